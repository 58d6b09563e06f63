// Number formats of weights, and a matrix times a few vectors: what decode.cpp is made of.
//
// Lanes are rows. A weight matrix is stored in panels of 16 rows, column after column, so that one
// vector holds the weights of 16 outputs for one input. Sixteen sums grow side by side and no
// vector is ever added up across.
//
// Weights are fp32, bf16, or int8 with a scale a row; sums are fp32 (int32 for int8). Each sum has
// the same order whatever the batch, so a row gets the same numbers alone and in company.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

constexpr int64_t LANES = 16;   // rows of a panel
constexpr int64_t CHAINS = 4;   // independent sums: one addition need not wait for the last
constexpr int64_t GROUP = 4;    // batch rows that share one pass over a panel

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));

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

// ---- weight formats: how an input is prepared, and how a vector of weights is multiplied with it

template <typename T>
inline T load(const void* from) {
    T to;
    std::memcpy(&to, from, sizeof to);
    return to;
}

inline Floats load_wide(const float* from) { return load<Floats>(from); }

inline Floats load_wide(const Bf16* from) {  // 16 numbers as fp32
#ifdef __AVX512F__
    __m512i wide = _mm512_cvtepu16_epi32(load<__m256i>(from));
    return Floats(_mm512_slli_epi32(wide, 16));
#else
    Floats wide;
    for (int64_t i = 0; i < LANES; i++) wide[i] = float(from[i]);
    return wide;
#endif
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

struct Float32Weights {
    using Number = float;
    using Input = float;
    using Sums = Floats;
    static constexpr int64_t pair = 1;
    static float prepare(const float* x, int64_t n, Input* out) {
        std::memcpy(out, x, n * sizeof(float));
        return 1.0f;
    }
    static Sums add(Sums sums, const Number* w, const Input* x) { return sums + load<Floats>(w) * *x; }
    static Floats wide(Sums sums) { return sums; }
};

// Two columns side by side: vdpbf16ps multiplies both and adds them to one fp32 sum.
struct Bfloat16Weights {
    using Number = Bf16;
    using Input = Bf16;
    using Sums = Floats;
    static constexpr int64_t pair = 2;
    static float prepare(const float* x, int64_t n, Input* out) {
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
    static Floats wide(Sums sums) { return sums; }
};

// Only the weights are 8 bits wide. Inputs get as many as the int32 sum has room for, 13 to 16:
// finer than bf16's 8, and whole numbers can be multiplied in pairs (vpdpwssd), exactly.
struct Int8Weights {
    using Number = int8_t;
    using Input = int16_t;
    using Sums = Ints;
    static constexpr int64_t pair = 2;
    static float prepare(const float* x, int64_t n, Input* out) {
        float largest = 0.0f;
#pragma omp simd reduction(max : largest)
        for (int64_t i = 0; i < n; i++) largest = std::max(largest, std::fabs(x[i]));
        float steps = std::min(32767.0f, float(INT32_MAX / 128 / n));
        float scale = largest > 0.0f ? largest / steps : 1.0f, inverse = 1.0f / scale;
        for (int64_t i = 0; i < n; i++) {
            float scaled = x[i] * inverse;
            out[i] = int16_t(scaled + (scaled < 0.0f ? -0.5f : 0.5f));
        }
        return scale;
    }
    static Sums add(Sums sums, const Number* w, const Input* x) {
#ifdef __AVX512VNNI__
        __m512i weights = _mm512_cvtepi8_epi16(load<__m256i>(w));
        return Ints(_mm512_dpwssd_epi32(__m512i(sums), weights, _mm512_set1_epi32(load<int32_t>(x))));
#else
        for (int64_t lane = 0; lane < LANES; lane++)
            sums[lane] += int32_t(w[2 * lane]) * x[0] + int32_t(w[2 * lane + 1]) * x[1];
        return sums;
#endif
    }
    static Floats wide(Sums sums) { return __builtin_convertvector(sums, Floats); }
};

// ---- matrix times vectors

struct Matrix {
    const void* numbers;  // (rows / 16, columns / pair, 16, pair)
    const float* scales;  // (rows,), int8 only
    int64_t rows, columns;  // padded with zeros to multiples of 16 and 8
};

inline int64_t padded(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

// Vectors as a weight format wants them, zero beyond their end. Every thread has its own.
template <typename W>
struct Inputs {
    int64_t batch, stride;
    std::vector<typename W::Input> numbers;  // (batch, stride)
    std::vector<float> scales;               // (batch,)
    std::vector<float> row;                  // (stride,)

    Inputs(int64_t batch, int64_t widest)
        : batch(batch), stride(padded(widest)), numbers(batch * stride), scales(batch), row(stride) {}

    // Fill from fp32: `make(b, row)` writes the n numbers of batch row b.
    template <typename Make>
    void fill(int64_t n, Make make) {
        for (int64_t b = 0; b < batch; b++) {
            auto* place = &numbers[b * stride];
            make(b, row.data());
            scales[b] = W::prepare(row.data(), n, place);
            std::fill(place + n, place + padded(n), typename W::Input(0.0f));
        }
    }
};

// One panel for G rows of the batch: out[g] (16,) = panel (16, columns) @ x[g] (columns,)
template <typename W, int G>
inline void multiply_panel(const typename W::Number* w, int64_t columns,
                           const typename W::Input* x, int64_t stride, Floats* out) {
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
        out[g] = W::wide((sums[0][g] + sums[1][g]) + (sums[2][g] + sums[3][g]));
}

template <typename W>
void multiply_group(const typename W::Number* w, int64_t columns, const typename W::Input* x,
                    int64_t stride, int64_t count, Floats* out) {
    if (count == 1) multiply_panel<W, 1>(w, columns, x, stride, out);
    if (count == 2) multiply_panel<W, 2>(w, columns, x, stride, out);
    if (count == 3) multiply_panel<W, 3>(w, columns, x, stride, out);
    if (count >= 4) multiply_panel<W, 4>(w, columns, x, stride, out);
}

// out (batch, rows) = inputs (batch, columns) @ matrix.T, or added to what is there. Called by all
// threads, which share the panels; they do not wait for each other at the end.
template <typename W>
void multiply(const Matrix& matrix, const Inputs<W>& inputs, float* out, bool add = false) {
    const auto* numbers = static_cast<const typename W::Number*>(matrix.numbers);
#pragma omp for schedule(static) nowait
    for (int64_t panel = 0; panel < matrix.rows / LANES; panel++)
        for (int64_t b = 0; b < inputs.batch; b += GROUP) {
            Floats sums[GROUP];
            int64_t count = std::min(GROUP, inputs.batch - b);
            multiply_group<W>(numbers + panel * LANES * matrix.columns, matrix.columns,
                              &inputs.numbers[b * inputs.stride], inputs.stride, count, sums);
            for (int64_t g = 0; g < count; g++) {
                Floats result = sums[g] * inputs.scales[b + g];
                if (matrix.scales) result *= load<Floats>(matrix.scales + panel * LANES);
                float* place = out + (b + g) * matrix.rows + panel * LANES;
                if (add) result += load<Floats>(place);
                std::memcpy(place, &result, sizeof result);
            }
        }
}
