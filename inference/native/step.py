"""NativeStep: running new positions of each row with one call into compiled code.

Packs the Thinker's weights as decode.cpp reads them and hands it the KV cache's own memory. What it
cannot serve (a GPU, decoupled attention, more than eight rows) is left to PyTorch.
"""

import ctypes
from ctypes import POINTER, byref, c_bool, c_float, c_int32, c_int64, c_void_p
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn import functional as F

from inference.config import GenerateConfig
from inference.native.library import library
from inference.runner import Scores
from models.block import rope_frequencies
from models.cache import KVCache
from models.errors import UserError
from models.quantization import DENSE as DENSE_KINDS
from models.quantization import quantise_rows
from models.tensorstore import TensorStore
from models.thinker import Thinker

MAX_BATCH = 8
LANES = 16  # rows of a panel
ROWS, COLUMNS = 32, 64  # what rows and columns of a matrix are padded to: tiles take so many
KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.int8: 2}
PAIRS = {torch.float32: 1, torch.bfloat16: 2, torch.int8: 4}  # columns side by side
DENSE = (torch.float32, torch.bfloat16)  # of weights
FORMATS = ("fp32", "fp16", "bf16", "q8_0", "q4_0", "nf4")  # of caches, in the order of formats.h


class Matrix(ctypes.Structure):
    _fields_ = [
        *(("numbers", c_void_p), ("scales", c_void_p), ("row_sums", c_void_p)),
        *(("rows", c_int64), ("columns", c_int64)),
    ]


class Layer(ctypes.Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("attention_norm", "mlp_norm", "q_norm", "k_norm")),
        *((name, Matrix) for name in ("qkv", "o", "gate_up", "down")),
    ]


class Model(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("hidden", "layer_count", "heads", "kv_heads")),
        *((name, c_int64) for name in ("head_dim", "inner", "vocabulary")),
        *(("eps", c_float), ("kind", c_int32), ("bf16_embeddings", c_int32)),
        *((name, c_void_p) for name in ("embeddings", "frequencies", "norm")),
        *(("layers", POINTER(Layer)), ("head", Matrix)),
    ]


class Store(ctypes.Structure):
    _fields_ = [
        *(("numbers", POINTER(c_void_p)), ("scales", POINTER(c_void_p)), ("format", c_int32)),
    ]


class Cache(ctypes.Structure):
    _fields_ = [("keys", Store), ("values", Store), ("batch", c_int64), ("capacity", c_int64)]


class New(ctypes.Structure):
    _fields_ = [
        *(("T", c_int64), ("ids", POINTER(c_int64)), ("embedded", c_void_p)),
        *(("mask", c_void_p), ("window", c_int64), ("every", c_bool)),
    ]


class Outputs(ctypes.Structure):
    _fields_ = [("logits", c_void_p), ("likeliest", POINTER(c_int64))]


class PackedThinker:
    """A Thinker's weights as decode.cpp reads them, in `thinker`'s dtype or int8."""

    def __init__(self, thinker: Thinker) -> None:
        self.state = weights_state(thinker)
        embeddings = thinker.model.embed_tokens.weight
        self.dtype = torch.int8 if thinker.int8 else embeddings.dtype
        self.kept = [embeddings.detach()]  # compiled code sees addresses: this keeps them valid
        c = thinker.config
        self.layers = (Layer * c.num_hidden_layers)(*map(self._layer, thinker.model.layers))
        self.model = Model(
            *(c.hidden_size, c.num_hidden_layers, c.num_attention_heads, c.num_key_value_heads),
            *(c.head_dim, c.intermediate_size, c.vocab_size, c.rms_norm_eps, KINDS[self.dtype]),
            *(embeddings.dtype == torch.bfloat16, embeddings.data_ptr()),
            self._vector(rope_frequencies(c.head_dim, c.rope_theta)),
            self._vector(thinker.model.norm.weight),
            self.layers,
            self._matrix(thinker.head_weight),
        )

    def _layer(self, block) -> Layer:
        attention, mlp = block.self_attn, block.mlp
        norms = (block.input_layernorm, block.post_attention_layernorm)
        inputs = (attention.q_proj, attention.k_proj, attention.v_proj)
        return Layer(
            *(self._vector(norm.weight) for norm in (*norms, attention.q_norm, attention.k_norm)),
            self._matrix(*(part.weight for part in inputs)),
            self._matrix(attention.o_proj.weight),
            self._matrix(mlp.gate_proj.weight, mlp.up_proj.weight),
            self._matrix(mlp.down_proj.weight),
        )

    def _vector(self, values: Tensor) -> int:
        self.kept.append(values.detach().float().contiguous())
        return self.kept[-1].data_ptr()

    def _matrix(self, *weights: Tensor) -> Matrix:
        """Matrices one below another, in panels of 16 rows, column after column."""
        weight = torch.cat([weight.detach() for weight in weights])  # (rows, columns)
        weight = F.pad(weight, (0, -weight.shape[1] % COLUMNS, 0, -weight.shape[0] % ROWS))
        rows, columns = weight.shape
        scales = sums = None
        if self.dtype == torch.int8:
            weight, row_scales = quantise_rows(weight)  # (rows, columns), (rows, 1)
            scales = self._vector(row_scales)
            self.kept.append(weight.sum(1, dtype=torch.int32))  # (rows,)
            sums = self.kept[-1].data_ptr()
        pair = PAIRS[self.dtype]
        panels = weight.view(rows // LANES, LANES, columns // pair, pair).transpose(1, 2)
        self.kept.append(panels.contiguous())  # (rows / 16, columns / pair, 16, pair)
        return Matrix(self.kept[-1].data_ptr(), scales, sums, rows, columns)


class Room:
    """What compiled code is told of T new positions, and where it answers; kept between calls."""

    def __init__(self, batch: int, T: int, every: bool, width: int, vocabulary: int) -> None:
        scored = T if every else 1
        self.ids = (c_int64 * (batch * T))()
        self.likeliest = (c_int64 * (batch * scored))()
        full = torch.empty(batch, *[scored] * every, width)
        self.logits = full[..., :vocabulary]
        self.new, self.outputs = New(T=T, every=every), Outputs(full.data_ptr(), self.likeliest)
        self.addresses = byref(self.new), byref(self.outputs)


def described(stores: tuple[TensorStore, ...]) -> Store:
    """Where the layers' keys, or values, are kept, and in which format."""
    first, addresses = stores[0], c_void_p * len(stores)
    kept = [addresses(*(part.data_ptr() for part in parts)) for parts in zip(*(s.parts for s in stores))]
    return Store(kept[0], kept[1] if len(kept) > 1 else None, FORMATS.index(format_of(first)))


def format_of(store: TensorStore) -> str:
    """The name of a store's number format."""
    if len(store.parts) > 1:
        return str(store.config.kind)
    return next(name for name, dtype in DENSE_KINDS.items() if dtype == store.parts[0].dtype)


class NativeStep:
    """A packed Thinker bound to one cache."""

    def __init__(self, function, packed: PackedThinker, cache: KVCache) -> None:
        self.function, self.packed, self.cache = function, packed, cache
        keys, values = zip(*cache.layers)
        self.described = Cache(described(keys), described(values), cache.batch, cache.max_len)
        self.addresses = byref(packed.model), byref(self.described)
        self.rooms: dict[tuple[int, bool], Room] = {}

    def __call__(
        self, new: list[int] | Tensor, mask: Tensor | None = None, every: bool = False
    ) -> Scores:
        """As `Runner` is called. With `every`, and of a few, each row gets the numbers that it would
        get alone.
        """
        T = new.shape[1] if isinstance(new, Tensor) else len(new) // self.cache.batch
        self.cache.require(T)
        room = self.rooms.get((T, every))
        if room is None:
            model = self.packed.model
            room = Room(self.cache.batch, T, every, model.head.rows, model.vocabulary)
            self.rooms[T, every] = room
        if isinstance(new, Tensor):
            embedded = new.float().contiguous()
            room.new.ids, room.new.embedded = None, embedded.data_ptr()
        else:
            if min(new) < 0 or max(new) >= self.packed.model.vocabulary:
                raise IndexError(f"token ids are 0 to {self.packed.model.vocabulary - 1}")
            room.ids[:] = new
            room.new.ids = room.ids
        if mask is not None:
            mask = mask.contiguous()
        room.new.mask = None if mask is None else mask.data_ptr()
        room.new.window = self.cache.window(T) or 0
        seconds = self.function(
            *self.addresses, self.cache.length, *room.addresses, torch.get_num_threads()
        )
        self.cache.advance(T)
        return Scores(room.logits, room.likeliest[:], seconds)


_packed: WeakKeyDictionary[Thinker, PackedThinker] = WeakKeyDictionary()


SIGNATURE = (  # of run_positions, see decode.cpp
    *(POINTER(Model), POINTER(Cache), c_int64),
    *(POINTER(New), POINTER(Outputs), c_int32),
)


def native_step(
    thinker: Thinker, cache: KVCache, config: GenerateConfig, wait: bool = True
) -> NativeStep | None:
    """The compiled pass for this model and cache, or None: PyTorch then.

    Args:
        wait: for the compiler, if need be; else None where nothing is compiled yet.

    Raises:
        UserError: the config insists on it, and it cannot be had.
    """
    wait = wait or config.native == "on"
    found = unsuited(thinker, cache) or library(thinker.folder, wait)
    if isinstance(found, str):
        if config.native == "on":
            raise UserError(f"native is on, but {found}")
        return None
    if thinker not in _packed or _packed[thinker].state != weights_state(thinker):
        _packed[thinker] = PackedThinker(thinker)
    found.run_positions.argtypes = SIGNATURE
    return NativeStep(found.run_positions, _packed[thinker], cache)


def unsuited(thinker: Thinker, cache: KVCache) -> str | None:
    """Why compiled decoding does not serve this model and cache, or None if it does."""
    weight = thinker.model.embed_tokens.weight
    if weight.device.type != "cpu" or weight.dtype not in DENSE:
        return f"compiled decoding is for fp32, bf16 and int8 on a CPU, not {weight.dtype} there"
    if thinker.config.head_dim % LANES:
        return f"compiled decoding is for heads of a multiple of {LANES} channels"
    if type(thinker) is not Thinker:
        return f"compiled decoding does not know a {type(thinker).__name__}"
    if thinker.quantised:
        return f"compiled decoding does not read {thinker.quantised} weights"
    if thinker.config.decoupled:
        return "compiled decoding does not know decoupled attention"
    if cache.batch > MAX_BATCH:
        return f"compiled decoding takes {MAX_BATCH} rows at once, not {cache.batch}"
    return None


def weights_state(thinker: Thinker) -> list[tuple[int, int]]:
    """Changes whenever a weight moves or is written to: then it must be packed again."""
    return [(p.data_ptr(), 0 if p.is_inference() else p._version) for p in thinker.parameters()]
