"""Loading plugins one by one, so that a broken one never breaks another."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from types import ModuleType

import pluggy

from tg_core.config import TG_BLOCK_PLUGINS, TG_STRICT_PLUGINS
from tg_core.errors import PluginError
from tg_core.plugins import hookspecs
from tg_core.plugins.catalog import Catalog, resolve
from tg_core.plugins.discovery import blocks, find_plugins
from tg_core.plugins.markers import HOOK_VERSION, PROJECT
from tg_core.plugins.records import LoadedPlugin, PluginFailure, PluginSource
from tg_core.plugins.registry import Registry

__all__ = ["PluginManager", "forget_plugins", "plugins"]

BUILTIN_MODULE = "tg_core.device.builtin"
"""Core's own device types. They register through the same hook as everyone's."""

MANDATORY_HOOKS = ("tg_register",)


class PluginManager:
    """The plugins of this process: those in use, what they registered, and those left out and why.

    Args:
        sources: the plugins to load; by default, those installed.
        blocked: names to leave out, as in `TG_BLOCK_PLUGINS`.
        strict: raise at the first plugin that fails instead of recording the reason.

    Raises:
        PluginError: in strict mode, a plugin failed.
    """

    def __init__(
        self,
        sources: Sequence[PluginSource] | None = None,
        blocked: str | None = None,
        strict: bool | None = None,
    ) -> None:
        self._pluggy = pluggy.PluginManager(PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self._blocked = TG_BLOCK_PLUGINS.value if blocked is None else blocked
        self._strict = bool(TG_STRICT_PLUGINS) if strict is None else strict
        self.failures: list[PluginFailure] = []
        loaded = []
        for source in find_plugins(BUILTIN_MODULE) if sources is None else sources:
            plugin = self._load_or_record(source)
            if plugin is not None:
                loaded.append(plugin)
        self.catalog: Catalog
        self.catalog, rejected = resolve(loaded)
        for plugin in loaded:
            if plugin.source in rejected:
                self._pluggy.unregister(plugin.module)
                self._fail(plugin.source, PluginError(rejected[plugin.source]))
        self.failures.sort(key=_by_source)

    def call_one(self, hook: str, plugin: LoadedPlugin, **arguments: object) -> object:
        """Call one hook on one plugin.

        Args:
            hook: the name of the hook.
            plugin: the only plugin to ask.
            arguments: the arguments of the hook.

        Returns:
            Its answer; None when it does not implement the hook.
        """
        others = [module for module in self._pluggy.get_plugins() if module is not plugin.module]
        answer = self._pluggy.subset_hook_caller(hook, others)(**arguments)
        if isinstance(answer, list):
            return answer[0] if answer else None
        return answer

    def _load_or_record(self, source: PluginSource) -> LoadedPlugin | None:
        if blocks(self._blocked, source):
            reason = "blocked by TG_BLOCK_PLUGINS"
            self.failures.append(PluginFailure(source, reason, blocked=True))
            return None
        try:
            return self._load(source)
        # A plugin is foreign code: whatever it raises is its own failure, recorded and reported.
        except (Exception, SystemExit) as error:
            self._fail(source, error)
            return None

    def _fail(self, source: PluginSource, error: BaseException) -> None:
        reason = describe_failure(source, error)
        if self._strict:
            raise PluginError(f"plugin {source.name!r} of {source}: {reason}") from error
        self.failures.append(PluginFailure(source, reason))

    def _load(self, source: PluginSource) -> LoadedPlugin:
        """Import, check and register one plugin; leaves nothing behind when it raises."""
        module = importlib.import_module(source.module)
        check_version(source, module)
        self._pluggy.register(module, name=f"{source.distribution}:{source.name}")
        try:
            self._pluggy.check_pending()
            plugin = LoadedPlugin(source, module, ())
            self._check_mandatory(module)
            registry = Registry()
            self.call_one("tg_register", plugin, registry=registry)
            return LoadedPlugin(source, module, registry.close())
        except BaseException:
            self._pluggy.unregister(module)
            raise

    def _check_mandatory(self, module: ModuleType) -> None:
        callers = self._pluggy.get_hookcallers(module) or []
        implemented = {caller.name for caller in callers}
        for name in MANDATORY_HOOKS:
            if name not in implemented:
                raise PluginError(f"does not implement the hook {name}, which every plugin must")


def check_version(source: PluginSource, module: ModuleType) -> None:
    """Check that a plugin was written for a hook specification this core can serve.

    Raises:
        PluginError: no version declared, or one that does not fit; names both packages and the pip
            line that fixes it.
    """
    declared = getattr(module, "TG_HOOK_VERSION", None)
    if declared is None:
        raise PluginError(
            f"module {source.module} declares no TG_HOOK_VERSION; "
            f"this tg-core serves TG_HOOK_VERSION = {HOOK_VERSION}"
        )
    if (
        not isinstance(declared, tuple)
        or len(declared) != 2
        or not all(isinstance(part, int) for part in declared)
    ):
        raise PluginError(f"TG_HOOK_VERSION is {declared!r}, expected (major, minor)")
    major, minor = HOOK_VERSION
    if declared[0] == major and declared[1] <= minor:
        return
    outdated = source.distribution if declared < HOOK_VERSION else "tg-core"
    raise PluginError(
        f"{source} is written for hook version {declared[0]}.{declared[1]}, "
        f"tg-core serves {major}.{minor}: pip install --upgrade {outdated}"
    )


def describe_failure(source: PluginSource, error: BaseException) -> str:
    """Put the failure of a plugin in one line, with advice where there is some."""
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package == source.module.partition(".")[0]:
            return f"{text}: pip install --force-reinstall {source.distribution}"
        return f"{text}: install what it needs with pip install {source.distribution}"
    if isinstance(error, PluginError):
        return text
    if isinstance(error, pluggy.PluginValidationError):
        return f"hook error: {text}"
    return f"{type(error).__name__}: {text}"


def _by_source(failure: PluginFailure) -> PluginSource:
    return failure.source


_lock = threading.RLock()
_manager: PluginManager | None = None


def plugins() -> PluginManager:
    """Return the plugins of this process, loading them on the first call.

    Raises:
        PluginError: in strict mode, a plugin failed.
    """
    global _manager
    if _manager is None:
        with _lock:
            if _manager is None:
                _manager = PluginManager()
    return _manager


def forget_plugins(replacement: PluginManager | None = None) -> None:
    """Forget the loaded plugins, or put others in their place; for tests."""
    global _manager
    with _lock:
        _manager = replacement
