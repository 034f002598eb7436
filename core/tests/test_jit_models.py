"""A small transformer trained and decoded: replays equal plain runs bit for bit."""

from __future__ import annotations

import numpy as np

from tg_core import Context, Tensor, TinyJit, Variable, dtypes, nn

DIM, HEADS, VOCAB, LENGTH = 16, 2, 11, 8


class Block:
    """Attention over a cache of keys and values, then a small network."""

    def __init__(self) -> None:
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def heads(self, x: Tensor) -> list[Tensor]:
        b, t, _ = x.shape
        split = self.qkv(self.norm1(x)).reshape(b, t, 3, HEADS, DIM // HEADS)
        return [split[:, :, i].transpose(1, 2) for i in range(3)]

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        b, t, _ = x.shape
        x = x + self.proj(attended.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(self.up(self.norm2(x)).gelu())

    def __call__(self, x: Tensor) -> Tensor:
        q, k, v = self.heads(x)
        return self.finish(x, q.scaled_dot_product_attention(k, v, is_causal=True))

    def decode(self, x: Tensor, cache: Tensor, position: object) -> Tensor:
        q, k, v = self.heads(x)
        cache[:, :, :, position : position + 1].assign(Tensor.stack(k, v))
        seen = cache[:, :, :, : position + 1]
        return self.finish(x, q.scaled_dot_product_attention(seen[0], seen[1]))


class Model:
    """Embedding, one block, and logits."""

    def __init__(self) -> None:
        self.embed = nn.Embedding(VOCAB, DIM)
        self.block = Block()
        self.out = nn.Linear(DIM, VOCAB)

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.out(self.block(self.embed(tokens)))


def model() -> Model:
    Tensor.manual_seed(11)
    made = Model()
    Tensor.realize(*nn.state.get_parameters(made))
    return made


def train(steps: int) -> tuple[list[float], dict[str, np.ndarray]]:
    """Train on a fixed pattern; return the losses and the weights."""
    net = model()
    optimizer = nn.optim.Adam(nn.state.get_parameters(net), lr=0.01)

    @TinyJit
    def step(tokens: Tensor, targets: Tensor) -> Tensor:
        optimizer.zero_grad()
        logits = net(tokens).reshape(-1, VOCAB).dropout(0.1)
        loss = logits.sparse_categorical_crossentropy(targets.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    rng = np.random.default_rng(0)
    with Tensor.train():
        for _ in range(steps):
            data = rng.integers(0, VOCAB, (4, LENGTH + 1)).astype(np.int32)
            losses.append(step(Tensor(data[:, :-1]), Tensor(data[:, 1:])).item())
    weights = {name: t.numpy() for name, t in nn.state.get_state_dict(net).items()}
    return losses, weights


def test_a_training_loop_replays_bit_for_bit() -> None:
    replayed, weights = train(6)
    with Context(JIT=0):
        plain, expected = train(6)
    assert replayed == plain
    assert len(set(replayed)) == len(replayed)
    for name, value in weights.items():
        assert value.tobytes() == expected[name].tobytes(), name


def decode(count: int) -> list[list[float]]:
    """Feed tokens one at a time; return the logits of each."""
    net = model()
    cache = Tensor.zeros(2, 1, HEADS, LENGTH, DIM // HEADS).contiguous().realize()

    @TinyJit
    def step(token: Tensor, position: object) -> Tensor:
        x = net.block.decode(net.embed(token), cache, position)
        return net.out(x)

    rows = []
    for i in range(count):
        token = Tensor([[(3 * i) % VOCAB]], dtype=dtypes.int32)
        bound = Variable("position", 0, LENGTH - 1).bind(i)
        rows.append(step(token, bound).reshape(VOCAB).tolist())
    return rows


def test_a_decode_loop_replays_bit_for_bit_and_equals_the_whole_sequence() -> None:
    replayed = decode(LENGTH)
    with Context(JIT=0):
        assert decode(LENGTH) == replayed
    net = model()
    tokens = Tensor([[(3 * i) % VOCAB for i in range(LENGTH)]], dtype=dtypes.int32)
    np.testing.assert_allclose(net(tokens).numpy()[0], replayed, rtol=1e-4, atol=1e-5)
