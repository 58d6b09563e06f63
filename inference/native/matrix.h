// Number formats of weights, and a matrix times some vectors: what decode.cpp is made of.
//
// Lanes are rows. A weight matrix is stored in panels of 16 rows, column after column, so that one
// vector holds the weights of 16 outputs for one input (for two or four where numbers are small).
// Sixteen sums grow side by side and no vector is ever added up across.
//
// Weights are fp32, bf16, or int8 with a scale a row; sums are fp32 (int32 for int8). Each sum has
// the same order whatever the batch, so a row gets the same numbers alone and in company. tiles.h
// multiplies the same panels where the processor has tiles.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

constexpr int64_t LANES = 16;   // rows of a panel
constexpr int64_t CHAINS = 4;   // independent sums: one addition need not wait for the last
constexpr int64_t GROUP = 4;    // inputs that share one pass over a panel
constexpr int64_t TILE = 16;    // rows of a tile, see tiles.h
constexpr int64_t LINE = 64;    // bytes of a vector, and of a tile's row

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));

// ---- numbers

template <typename To, typename From>
inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

struct Bf16 {  // the upper half of a float
    uint16_t bits;
    Bf16() = default;
    explicit Bf16(float x) {  // to nearest, ties to even
        uint32_t wide = bits_as<uint32_t>(x);
        bits = (wide + 0x7fff + ((wide >> 16) & 1)) >> 16;
    }
    explicit operator float() const { return bits_as<float>(uint32_t(bits) << 16); }
};

// e^x = 2^n * e^r, |r| <= ln(2) / 2: written out, because then the compiler makes vectors of it.
inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it leaves no bits for a fraction
    float n = (x * 1.44269504f + to_integer) - to_integer;
    float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;  // ln 2 in two parts
    float e = 1.0f / 720;
    for (float term : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) e = e * r + term;
    return e * bits_as<float>((int32_t(n) + 127) << 23);
}

template <typename T>
inline T load(const void* from) {
    T to;
    std::memcpy(&to, from, sizeof to);
    return to;
}

inline float total(Floats x) {
#ifdef __AVX512F__
    return _mm512_reduce_add_ps(__m512(x));
#else
    float sum = 0.0f;
    for (int64_t i = 0; i < LANES; i++) sum += x[i];
    return sum;
#endif
}

inline float largest(const float* x, int64_t n) {
    float most = x[0];
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; i++) most = std::max(most, x[i]);
    return most;
}

// ---- weight formats: how an input is prepared, how a vector of weights is multiplied with it, and
// how the sums become numbers. `pair` columns stand side by side in a vector of weights. An input
// may be kept in several `planes`, each multiplied on its own.

struct Matrix {
    const void* numbers;      // (rows / 16, columns / pair, 16, pair)
    const float* scales;      // (rows,), int8 only
    const int32_t* row_sums;  // (rows,) of the numbers, int8 only
    int64_t rows, columns;    // padded with zeros to multiples of 32 and 64
};

struct Float32Weights {
    using Number = float;
    using Input = float;
    using Sums = Floats;
    static constexpr int64_t pair = 1, planes = 1;
    static float prepare(const float* x, int64_t n, Input* out, int64_t) {
        std::memcpy(out, x, n * sizeof(float));
        return 1.0f;
    }
    static Sums add(Sums sums, const Number* w, const Input* x) { return sums + load<Floats>(w) * *x; }
    static Floats wide(const Sums* sums, int64_t, const Matrix&, int64_t) { return *sums; }
};

// Two columns side by side: vdpbf16ps multiplies both and adds them to one fp32 sum.
struct Bfloat16Weights {
    using Number = Bf16;
    using Input = Bf16;
    using Sums = Floats;
    static constexpr int64_t pair = 2, planes = 1;
    static float prepare(const float* x, int64_t n, Input* out, int64_t) {
        for (int64_t i = 0; i < n; i++) out[i] = Bf16(x[i]);
        return 1.0f;
    }
    static Sums add(Sums sums, const Number* w, const Input* x) {
#ifdef __AVX512BF16__
        __m512i both = _mm512_set1_epi32(load<int32_t>(x));
        return Floats(_mm512_dpbf16_ps(__m512(sums), load<__m512bh>(w), bits_as<__m512bh>(both)));
#else
        Ints both = load<Ints>(w);
        Floats first = bits_as<Floats>(both << 16), second = bits_as<Floats>(both & int32_t(0xffff0000));
        return sums + first * float(x[0]) + second * float(x[1]);
#endif
    }
    static Floats wide(const Sums* sums, int64_t, const Matrix&, int64_t) { return *sums; }
};

// Only the weights are 8 bits wide. Inputs are whole numbers of as many bits as the int32 sum has
// room for, 13 to 16: finer than bf16's 8. Processors multiply bytes, those of the input unsigned:
// 2^15 is added, which leaves x = 256 * high + low - 2^15, and high and low are two planes. Nothing
// is rounded here: sums may run over 2^32 meanwhile, what comes out is exact.
struct Int8Weights {
    using Number = int8_t;
    using Input = uint8_t;
    using Sums = Ints;
    static constexpr int64_t pair = 4, planes = 2;
    static float prepare(const float* x, int64_t n, Input* out, int64_t stride) {
        float most = 0.0f;
#pragma omp simd reduction(max : most)
        for (int64_t i = 0; i < n; i++) most = std::max(most, std::fabs(x[i]));
        float steps = std::min(32767.0f, float(INT32_MAX / 128 / n));
        float scale = most > 0.0f ? most / steps : 1.0f, inverse = 1.0f / scale;
        Input *high = out, *low = out + stride;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            uint32_t shifted = uint32_t(int32_t(x[i] * inverse + 32768.5f));  // above 0: truncating rounds
            high[i] = Input(shifted >> 8);
            low[i] = Input(shifted);
        }
        return scale;
    }
    static Sums add(Sums sums, const Number* w, const Input* x) {
#ifdef __AVX512VNNI__
        __m512i four = _mm512_set1_epi32(load<int32_t>(x));
        return Ints(_mm512_dpbusd_epi32(__m512i(sums), four, load<__m512i>(w)));
#else
        for (int64_t lane = 0; lane < LANES; lane++)
            for (int64_t i = 0; i < pair; i++) sums[lane] += int32_t(w[pair * lane + i]) * x[i];
        return sums;
#endif
    }
    static Floats wide(const Sums* sums, int64_t apart, const Matrix& matrix, int64_t panel) {
        Bits shift = load<Bits>(matrix.row_sums + panel * LANES) << 15;
        Ints exact = Ints((Bits(sums[0]) << 8) + Bits(sums[apart]) - shift);
        return __builtin_convertvector(exact, Floats) * load<Floats>(matrix.scales + panel * LANES);
    }
};

// ---- matrix times vectors

inline int64_t padded(int64_t n, int64_t to = LANES) { return (n + to - 1) / to * to; }

// Vectors as a weight format wants them, zero beyond their end. Every thread has its own.
template <typename W>
struct Inputs {
    int64_t most, count, stride;  // count: those filled in
    std::vector<typename W::Input> numbers;  // (vectors, to whole pairs of tiles; planes; stride)
    std::vector<float> scales;               // (count,)
    std::vector<float> row;                  // (stride,)

    Inputs(int64_t most, int64_t widest)
        : most(most), count(0), stride(padded(widest, LINE)),
          numbers(padded(most, most < TILE ? 1 : 2 * TILE) * W::planes * stride),
          scales(most), row(stride) {}

    const typename W::Input* at(int64_t i) const { return &numbers[i * W::planes * stride]; }

    // Fill from fp32: `make(i, row)` writes the n numbers of vector i, of so many.
    template <typename Make>
    void fill(int64_t vectors, int64_t n, Make make) {
        count = vectors;
        for (int64_t i = 0; i < count; i++) {
            auto* place = &numbers[i * W::planes * stride];
            make(i, row.data());
            scales[i] = W::prepare(row.data(), n, place, stride);
            for (int64_t plane = 0; plane < W::planes; plane++, place += stride)
                std::fill(place + n, place + padded(n, LINE), typename W::Input(0.0f));
        }
    }
};

// out = sums as numbers, or added to what is there
template <typename W>
inline void finish(const typename W::Sums* sums, int64_t apart, const Matrix& matrix, int64_t panel,
                   float scale, bool add, float* out) {
    Floats result = W::wide(sums, apart, matrix, panel) * scale;
    if (add) result += load<Floats>(out);
    std::memcpy(out, &result, sizeof result);
}

// One panel for G inputs: sums[g] (16,) = panel (16, columns) @ x[g] (columns,)
template <typename W, int G>
inline void multiply_panel(const typename W::Number* w, int64_t columns,
                           const typename W::Input* x, int64_t stride, typename W::Sums* out) {
    typename W::Sums sums[CHAINS][G] = {};
    for (int64_t c = 0; c < columns; c += CHAINS * W::pair)
#pragma GCC unroll 4
        for (int64_t chain = 0; chain < CHAINS; chain++)
#pragma GCC unroll 4
            for (int g = 0; g < G; g++) {
                int64_t column = c + chain * W::pair;
                sums[chain][g] = W::add(sums[chain][g], w + column * LANES, x + g * stride + column);
            }
    for (int g = 0; g < G; g++)
        out[g] = (sums[0][g] + sums[1][g]) + (sums[2][g] + sums[3][g]);
}

#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
// The same with vectors of half the length, sixteen registers: the sums of four inputs fill eight,
// enough additions at once. Left to the compiler, vectors of 64 bytes go through memory.
template <int G>
inline void multiply_halves(const float* w, int64_t columns, const float* x, int64_t stride, Floats* out) {
    __m256 low[G], high[G];
#pragma GCC unroll 4
    for (int g = 0; g < G; g++) low[g] = high[g] = _mm256_setzero_ps();
    for (int64_t c = 0; c < columns; c++, w += LANES) {
        __m256 first = _mm256_loadu_ps(w), second = _mm256_loadu_ps(w + LANES / 2);
#pragma GCC unroll 4
        for (int g = 0; g < G; g++) {
            __m256 input = _mm256_broadcast_ss(x + g * stride + c);
            low[g] = _mm256_fmadd_ps(first, input, low[g]);
            high[g] = _mm256_fmadd_ps(second, input, high[g]);
        }
    }
    for (int g = 0; g < G; g++) {
        float* place = reinterpret_cast<float*>(out + g);
        _mm256_storeu_ps(place, low[g]);
        _mm256_storeu_ps(place + LANES / 2, high[g]);
    }
}

template <>
inline void multiply_panel<Float32Weights, 1>(const float* w, int64_t n, const float* x, int64_t stride, Floats* out) {
    multiply_halves<1>(w, n, x, stride, out);
}
template <>
inline void multiply_panel<Float32Weights, 2>(const float* w, int64_t n, const float* x, int64_t stride, Floats* out) {
    multiply_halves<2>(w, n, x, stride, out);
}
template <>
inline void multiply_panel<Float32Weights, 3>(const float* w, int64_t n, const float* x, int64_t stride, Floats* out) {
    multiply_halves<3>(w, n, x, stride, out);
}
template <>
inline void multiply_panel<Float32Weights, 4>(const float* w, int64_t n, const float* x, int64_t stride, Floats* out) {
    multiply_halves<4>(w, n, x, stride, out);
}
#endif

template <typename W>
void multiply_group(const typename W::Number* w, int64_t columns, const typename W::Input* x,
                    int64_t stride, int64_t count, typename W::Sums* out) {
    if (count == 1) multiply_panel<W, 1>(w, columns, x, stride, out);
    if (count == 2) multiply_panel<W, 2>(w, columns, x, stride, out);
    if (count == 3) multiply_panel<W, 3>(w, columns, x, stride, out);
    if (count >= 4) multiply_panel<W, 4>(w, columns, x, stride, out);
}

struct Panels {  // those of a matrix that a thread works on
    int64_t first, end;
};

// out (count, rows) = inputs (count, columns) @ matrix.T, or added to what is there
template <typename W>
void multiply_vectors(const Matrix& matrix, Panels panels, const Inputs<W>& inputs, float* out, bool add) {
    const auto* numbers = static_cast<const typename W::Number*>(matrix.numbers);
    constexpr int64_t together = GROUP / W::planes;
    for (int64_t panel = panels.first; panel < panels.end; panel++)
        for (int64_t i = 0; i < inputs.count; i += together) {
            typename W::Sums sums[GROUP];
            int64_t count = std::min(together, inputs.count - i);
            multiply_group<W>(numbers + panel * LANES * matrix.columns, matrix.columns,
                              inputs.at(i), inputs.stride, count * W::planes, sums);
            for (int64_t g = 0; g < count; g++)
                finish<W>(sums + g * W::planes, 1, matrix, panel, inputs.scales[i + g], add,
                          out + (i + g) * matrix.rows + panel * LANES);
        }
}
