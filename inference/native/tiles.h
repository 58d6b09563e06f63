// A matrix times many vectors in tiles (Intel AMX): the same panels, 32 rows of them at once.
//
// A tile is a register of 16 rows of 64 bytes. One instruction multiplies a tile of inputs (16
// vectors, 32 bf16 or 64 bytes of each) with a tile of weights, which a piece of a panel already
// is, and adds to a tile of 16 x 16 sums: eight times what vectors do in the same time. It pays for
// prompts, and for guesses: a few vectors then cost little more than reading the weights does.

#pragma once

#include "matrix.h"

#if defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__)
#define HAS_TILES 1
#include <sys/syscall.h>
#include <unistd.h>
#endif

template <typename W>
struct Tiled {
    static constexpr bool possible = false;  // fp32 has no tiles
};

#ifdef HAS_TILES

// Linux lends the registers' 8 KiB only to processes that ask.
inline bool tiles_allowed() {
    constexpr int request_permission = 0x1023, tile_data = 18;
    static const bool allowed = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    return allowed;
}

struct TileShapes {  // as the instruction reads them, 64 bytes
    uint8_t palette = 1, unused[15] = {};
    uint16_t row_bytes[16] = {LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE};
    uint8_t rows[16] = {};
};

// The registers of this thread, for as long as this exists: sums 0 to 3 and inputs 4 and 5, of as
// many rows as there are inputs, and weights 6 and 7. Others (llama.cpp) expect to find theirs again.
struct TileRegisters {
    TileShapes before;
    explicit TileRegisters(int64_t inputs) {
        _tile_storeconfig(&before);
        TileShapes shapes;
        for (int tile = 0; tile < 8; tile++)
            shapes.rows[tile] = tile < 6 ? std::min(inputs, TILE) : TILE;
        _tile_loadconfig(&shapes);
    }
    ~TileRegisters() { _tile_loadconfig(&before); }
};

// From how many vectors on. Tiles add up bf16 in an order of their own, so they do it for any; sums
// of int8 are exact, and for one or two vectors are quicker.
template <>
struct Tiled<Bfloat16Weights> {
    static constexpr bool possible = true;
    static constexpr int64_t least = 1;
};
template <>
struct Tiled<Int8Weights> {
    static constexpr bool possible = true;
    static constexpr int64_t least = 3;
};

// The instruction wants the tiles' numbers written out.
template <typename W, int Blocks>
inline void add_tiles() {
    if constexpr (W::planes == 1) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (Blocks == 2) {
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    } else {
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
}

// sums (Blocks of inputs, 2 panels, 16 inputs, 16 rows). The second block are 16 inputs more, or
// the second plane of the first.
template <typename W, int Blocks>
void multiply_tiles(const typename W::Number* w, int64_t columns, const typename W::Input* x,
                    int64_t stride, typename W::Sums (*sums)[2][TILE]) {
    constexpr int64_t step = LINE / sizeof(typename W::Number);  // columns of a tile
    const int64_t pitch = stride * W::planes * sizeof(typename W::Input);
    const auto* second = x + (W::planes == 1 ? TILE * stride : stride);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t c = 0; c < columns; c += step) {
        _tile_loadd(4, x + c, pitch);
        if constexpr (Blocks == 2) _tile_loadd(5, second + c, pitch);
        _tile_loadd(6, w + c * LANES, LINE);
        _tile_loadd(7, w + (columns + c) * LANES, LINE);
        add_tiles<W, Blocks>();
    }
    _tile_stored(0, sums[0][0], LINE);
    _tile_stored(1, sums[0][1], LINE);
    if constexpr (Blocks == 2) {
        _tile_stored(2, sums[1][0], LINE);
        _tile_stored(3, sums[1][1], LINE);
    }
}

// As `multiply_vectors`, for an even number of panels.
template <typename W>
void multiply_tiled(const Matrix& matrix, Panels panels, const Inputs<W>& inputs, float* out, bool add) {
    const auto* numbers = static_cast<const typename W::Number*>(matrix.numbers);
    constexpr int64_t together = 2 * TILE / W::planes;
    typename W::Sums sums[2][2][TILE];
    constexpr int64_t apart = sizeof sums[0] / sizeof sums[0][0][0];  // from one plane to the next
    for (int64_t panel = panels.first; panel < panels.end; panel += 2)
        for (int64_t i = 0; i < inputs.count; i += together) {
            const auto* w = numbers + panel * LANES * matrix.columns;
            if (W::planes == 1 && inputs.count - i <= TILE)
                multiply_tiles<W, 1>(w, matrix.columns, inputs.at(i), inputs.stride, sums);
            else
                multiply_tiles<W, 2>(w, matrix.columns, inputs.at(i), inputs.stride, sums);
            for (int64_t g = 0; g < std::min(together, inputs.count - i); g++)
                for (int64_t p = 0; p < 2; p++)
                    finish<W>(&sums[g / TILE][p][g % TILE], apart, matrix, panel + p,
                              inputs.scales[i + g], add,
                              out + (i + g) * matrix.rows + (panel + p) * LANES);
        }
}

#else

inline bool tiles_allowed() { return false; }
struct TileRegisters {
    explicit TileRegisters(int64_t) {}
};

#endif

// out (count, rows) = inputs (count, columns) @ matrix.T, or added to what is there
template <typename W>
void multiply(const Matrix& matrix, Panels panels, const Inputs<W>& inputs, float* out, bool add = false) {
    if constexpr (Tiled<W>::possible)
        if (tiles_allowed() && inputs.count >= Tiled<W>::least)
            return multiply_tiled(matrix, panels, inputs, out, add);
    multiply_vectors(matrix, panels, inputs, out, add);
}
