"""The thread pool as LLVM IR text, compiled through the same JIT as kernels.

It is for Linux on x86-64 and arm64.

A job is `(kernel, args, chunks)`: every chunk index in `[0, chunks)` is passed to `kernel(args,
chunk)` exactly once, by the caller or by one of the workers. The protocol, in terms of the globals
below:

* `lock` is held by the caller for the length of a job. Who finds it taken runs its chunks by
  itself, so concurrent and nested calls never block and never deadlock.
* `gate` is `OPEN` plus the number of workers inside the job. A worker joins by compare-and-swap
  while the bit is set; the caller clears the bit when no chunk is left and waits for the count to
  fall to 0. A worker that wakes up late finds the gate closed, so a job never waits for a sleeping
  worker, and `kernel`, `args`, `chunks` are stable while anyone is inside.
* `generation` counts jobs and is the futex workers sleep on after a short spin; the caller wakes
  only when `sleepers` says so.
* `waiting` is the caller's flag that it sleeps on `gate`, so that workers make no system call
  otherwise.

Workers are created by the first job that can use them (`wanted` of them), with signals blocked:
Ctrl-C always reaches Python's threads. After a fork the child calls `tg_pool_reset`, which forgets
the parent's workers.
"""

from __future__ import annotations

WORKER_LIMIT = 1024
"""The largest number of workers (size of the table of thread handles)."""

GATE_OPEN = 1 << 30
"""Bit of `gate` that lets workers join; the bits below count them."""

SPINS_WORKER = 1500
"""Pauses a worker spins for the next job before it sleeps: about the gap between eager kernels."""

SPINS_CALLER = 4000
"""Pauses the caller spins for the last workers before it sleeps."""

_SYSCALL_FUTEX = {"x86_64": 202, "aarch64": 98}
"""Number of the futex system call.

Source: Linux `arch/x86/entry/syscalls/syscall_64.tbl`, `include/uapi/asm-generic/unistd.h`.
"""

_PAUSE = {"x86_64": "pause", "aarch64": "yield"}
"""Instruction that tells the core it is in a spin loop."""

_TEXT = """
@lock = internal global i32 0, align 64
@generation = internal global i32 0, align 64
@sleepers = internal global i32 0, align 64
@gate = internal global i32 0, align 64
@waiting = internal global i32 0, align 64
@next = internal global i64 0, align 64
@kernel = internal global ptr null, align 64
@args = internal global ptr null, align 8
@chunks = internal global i64 0, align 8
@wanted = internal global i32 0, align 64
@started = internal global i32 0, align 4
@stop = internal global i32 0, align 4
@threads = internal global [$worker_limit x i64] zeroinitializer, align 64
; every signal but SIGILL, SIGBUS, SIGFPE and SIGSEGV, which belong to the thread that caused them
@blocked = internal constant <{ i8, i8, [126 x i8] }>
  <{ i8 55, i8 251, [126 x i8] [$ones] }>, align 8

declare i64 @syscall(i64, ...)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @sched_yield()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal void @futex_wait(ptr %word, i32 %expected) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 128, i32 %expected, ptr null)
  ret void
}

define internal void @futex_wake(ptr %word, i32 %count) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 129, i32 %count)
  ret void
}

; take chunks until none is left
define internal void @take_chunks(ptr %kernel, ptr %args, i64 %chunks) {
entry:
  br label %take
take:
  %i = atomicrmw add ptr @next, i64 1 monotonic
  %more = icmp ult i64 %i, %chunks
  br i1 %more, label %work, label %done
work:
  call void %kernel(ptr %args, i64 %i)
  br label %take
done:
  ret void
}

define internal void @run_alone(ptr %kernel, ptr %args, i64 %chunks) {
entry:
  %some = icmp sgt i64 %chunks, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void %kernel(ptr %args, i64 %i)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %chunks
  br i1 %more, label %loop, label %done
done:
  ret void
}

define internal ptr @worker(ptr %unused) {
entry:
  br label %idle
idle:
  %seen = phi i32 [ 0, %entry ], [ %current, %try ], [ %current, %work ],
                  [ %current, %last ], [ %current, %wake ]
  br label %spin
spin:
  %n = phi i32 [ 0, %idle ], [ %n1, %spin_more ], [ 0, %sleep ]
  %current = load atomic i32, ptr @generation acquire, align 4
  %fresh = icmp ne i32 %current, %seen
  br i1 %fresh, label %look, label %spin_more
spin_more:
  call void asm sideeffect "$pause", "~{memory}"()
  %n1 = add i32 %n, 1
  %tired = icmp uge i32 %n1, $spins_worker
  br i1 %tired, label %sleep, label %spin
sleep:
  %s0 = atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @futex_wait(ptr @generation, i32 %seen)
  %s1 = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %spin
look:
  %stopping = load atomic i32, ptr @stop acquire, align 4
  %quit = icmp ne i32 %stopping, 0
  br i1 %quit, label %exit, label %try
try:
  %g = load atomic i32, ptr @gate monotonic, align 4
  %bit = and i32 %g, $gate_open
  %open = icmp ne i32 %bit, 0
  br i1 %open, label %join, label %idle
join:
  %g1 = add i32 %g, 1
  %swap = cmpxchg ptr @gate, i32 %g, i32 %g1 acquire monotonic
  %joined = extractvalue { i32, i1 } %swap, 1
  br i1 %joined, label %work, label %try
work:
  %kernel = load ptr, ptr @kernel, align 8
  %args = load ptr, ptr @args, align 8
  %chunks = load i64, ptr @chunks, align 8
  call void @take_chunks(ptr %kernel, ptr %args, i64 %chunks)
  %before = atomicrmw sub ptr @gate, i32 1 seq_cst
  %was_last = icmp eq i32 %before, 1
  br i1 %was_last, label %last, label %idle
last:
  %asleep = load atomic i32, ptr @waiting seq_cst, align 4
  %wanted = icmp ne i32 %asleep, 0
  br i1 %wanted, label %wake, label %idle
wake:
  call void @futex_wake(ptr @gate, i32 1)
  br label %idle
exit:
  ret ptr null
}

; create the workers; the caller holds the lock
define internal void @start() {
entry:
  %old = alloca [128 x i8], align 8
  %m0 = call i32 @pthread_sigmask(i32 2, ptr @blocked, ptr %old)
  %count = load i32, ptr @wanted, align 4
  %some = icmp sgt i32 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %created ]
  %slot = getelementptr i64, ptr @threads, i32 %i
  %rc = call i32 @pthread_create(ptr %slot, ptr null, ptr @worker, ptr null)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %created, label %done
created:
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %count
  br i1 %more, label %loop, label %done
done:
  %number = phi i32 [ 0, %entry ], [ %i, %loop ], [ %j, %created ]
  store i32 %number, ptr @started, align 4
  ; a system that refuses threads gets a smaller pool, not a retry at every job
  store i32 %number, ptr @wanted, align 4
  %m1 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}

define void @tg_pool_run(ptr %kernel, ptr %args, i64 %chunks) {
entry:
  %single = icmp sle i64 %chunks, 1
  br i1 %single, label %alone, label %try
try:
  %swap = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %locked = extractvalue { i32, i1 } %swap, 1
  br i1 %locked, label %check, label %alone
alone:
  call void @run_alone(ptr %kernel, ptr %args, i64 %chunks)
  ret void
check:
  %w = load i32, ptr @wanted, align 4
  %s = load i32, ptr @started, align 4
  %complete = icmp eq i32 %w, %s
  br i1 %complete, label %post, label %create
create:
  call void @start()
  br label %post
post:
  store ptr %kernel, ptr @kernel, align 8
  store ptr %args, ptr @args, align 8
  store i64 %chunks, ptr @chunks, align 8
  store atomic i64 0, ptr @next monotonic, align 8
  store atomic i32 $gate_open, ptr @gate release, align 4
  %g0 = atomicrmw add ptr @generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any_asleep = icmp sgt i32 %asleep, 0
  br i1 %any_asleep, label %rouse, label %work
rouse:
  %others = sub i64 %chunks, 1
  %helpers = call i64 @llvm.smin.i64(i64 %others, i64 $worker_limit)
  %helpers32 = trunc i64 %helpers to i32
  call void @futex_wake(ptr @generation, i32 %helpers32)
  br label %work
work:
  call void @take_chunks(ptr %kernel, ptr %args, i64 %chunks)
  %g1 = atomicrmw and ptr @gate, i32 $gate_mask seq_cst
  br label %wait
wait:
  %n = phi i32 [ 0, %work ], [ %n1, %pause ], [ 0, %slept ]
  %inside = load atomic i32, ptr @gate acquire, align 4
  %empty = icmp eq i32 %inside, 0
  br i1 %empty, label %unlock, label %patience
patience:
  %tired = icmp uge i32 %n, $spins_caller
  br i1 %tired, label %doze, label %pause
pause:
  call void asm sideeffect "$pause", "~{memory}"()
  %n1 = add i32 %n, 1
  br label %wait
doze:
  store atomic i32 1, ptr @waiting seq_cst, align 4
  %still = load atomic i32, ptr @gate seq_cst, align 4
  %none = icmp eq i32 %still, 0
  br i1 %none, label %slept, label %sleep
sleep:
  call void @futex_wait(ptr @gate, i32 %still)
  br label %slept
slept:
  store atomic i32 0, ptr @waiting seq_cst, align 4
  br label %wait
unlock:
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

; end the workers and set how many the next job may create
define void @tg_pool_resize(i32 %count) {
entry:
  br label %take
take:
  %swap = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %locked = extractvalue { i32, i1 } %swap, 1
  br i1 %locked, label %ask, label %busy
busy:
  %y = call i32 @sched_yield()
  br label %take
ask:
  store atomic i32 1, ptr @stop seq_cst, align 4
  %g0 = atomicrmw add ptr @generation, i32 1 seq_cst
  call void @futex_wake(ptr @generation, i32 $worker_limit)
  %alive = load i32, ptr @started, align 4
  %some = icmp sgt i32 %alive, 0
  br i1 %some, label %join, label %done
join:
  %i = phi i32 [ 0, %ask ], [ %j, %join ]
  %slot = getelementptr i64, ptr @threads, i32 %i
  %thread = load i64, ptr %slot, align 8
  %rc = call i32 @pthread_join(i64 %thread, ptr null)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %alive
  br i1 %more, label %join, label %done
done:
  call void @tg_pool_reset(i32 %count)
  ret void
}

; forget everything; right only where no worker exists: at the beginning and in the child of a fork
define void @tg_pool_reset(i32 %count) {
  store i32 %count, ptr @wanted, align 4
  store i32 0, ptr @started, align 4
  store atomic i32 0, ptr @stop seq_cst, align 4
  store atomic i32 0, ptr @sleepers seq_cst, align 4
  store atomic i32 0, ptr @generation seq_cst, align 4
  store atomic i32 0, ptr @gate seq_cst, align 4
  store atomic i32 0, ptr @waiting seq_cst, align 4
  store atomic i32 0, ptr @lock seq_cst, align 4
  ret void
}
"""
"""With `$name` for what `pool_ir` fills in; no name begins with another."""


def supported(architecture: str) -> bool:
    """Tell whether there is a pool for `architecture` (on Linux).

    Args:
        architecture: first part of the target triple.
    """
    return architecture in _SYSCALL_FUTEX


def pool_ir(architecture: str) -> str:
    """Return the module with `tg_pool_run`, `tg_pool_resize` and `tg_pool_reset`.

    Args:
        architecture: first part of the target triple, `x86_64` or `aarch64`.

    Returns:
        LLVM IR text.
    """
    values = {
        "worker_limit": WORKER_LIMIT,
        "ones": ", ".join(["i8 -1"] * 126),
        "futex": _SYSCALL_FUTEX[architecture],
        "pause": _PAUSE[architecture],
        "gate_open": GATE_OPEN,
        "gate_mask": GATE_OPEN - 1,
        "spins_worker": SPINS_WORKER,
        "spins_caller": SPINS_CALLER,
    }
    text = _TEXT
    for name, value in values.items():
        # `string.Template` does this with regular expressions, which are slow to compile
        text = text.replace(f"${name}", str(value))
    return text
