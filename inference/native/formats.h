// Number formats of the KV cache: how vectors are stored, and read again as fp32.
//
// The same formats, to the last bit, as models/quantization.py: either side can go on where the
// other stopped. Attention widens a stretch of positions once for all queries that look at it, so
// a format costs little beside fp32, and less memory is read.

#pragma once

#include "matrix.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

enum Format : int32_t { FP32, FP16, BF16, Q8_0, Q4_0, NF4 };  // inference/native/step.py: FORMATS

constexpr int64_t BLOCK_WIDTH = 32;    // numbers that share a scale
constexpr float LEAST_SCALE = 1e-7f;   // a block of zeros must not divide by zero
constexpr float NF4_LEVELS[16] = {     // QLoRA, appendix E
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
    -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
    0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
    0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};

struct Half {  // IEEE fp16; infinities do not occur
    uint16_t bits;
    Half() = default;
    explicit Half(float x) {  // to nearest, ties to even
        uint32_t wide = bits_as<uint32_t>(x), sign = wide & 0x80000000u;
        wide ^= sign;
        if (wide >= (143u << 23)) {
            wide = 0x7c00;  // too large
        } else if (wide < (113u << 23)) {  // subnormal: an addition rounds it
            const uint32_t shift = 126u << 23;
            wide = bits_as<uint32_t>(bits_as<float>(wide) + bits_as<float>(shift)) - shift;
        } else {
            wide = (wide - (112u << 23) + 0xfff + ((wide >> 13) & 1)) >> 13;
        }
        bits = uint16_t(wide | (sign >> 16));
    }
    explicit operator float() const {
        uint32_t size = uint32_t(bits & 0x7fff) << 13, sign = uint32_t(bits & 0x8000) << 16;
        float moved = bits_as<float>(size) * 5.192296858534828e33f;  // 2^112: exponents are biased anew
        return bits_as<float>(bits_as<uint32_t>(moved) | sign);
    }
};

struct Store {  // keys or values, a layer each; inference/native/step.py has the same fields
    void* const* numbers;  // (batch, kv_heads, capacity, D) numbers, or D / 2 bytes of two each
    void* const* scales;   // (batch, kv_heads, capacity, D / 32) fp16; null where nothing is scaled
    int32_t format;
};

// The vectors of one head. (capacity, D)
struct Vectors {
    uint8_t* numbers;
    Half* scales;
    Format format;
    int64_t D;

    Vectors(const Store& store, int64_t layer, int64_t before, int64_t D)
        : numbers(static_cast<uint8_t*>(store.numbers[layer])),
          scales(store.scales ? static_cast<Half*>(store.scales[layer]) : nullptr),
          format(Format(store.format)), D(D) {
        numbers += before * width();
        if (scales) scales += before * blocks();
    }

    int64_t blocks() const { return D / BLOCK_WIDTH; }

    int64_t width() const {  // bytes of a vector, without scales
        return format == FP32 ? 4 * D : format == FP16 || format == BF16 ? 2 * D : format == Q8_0 ? D : D / 2;
    }

    // Vectors of positions `first` to `end` as fp32: where they stand, or widened into `room`.
    const float* read(int64_t first, int64_t end, float* room) const {
        const uint8_t* from = numbers + first * width();
        if (format == FP32) return reinterpret_cast<const float*>(from);
        for (int64_t s = first; s < end; s++, from += width()) widen(from, s, room + (s - first) * D);
        return room;
    }

    void write(int64_t position, const float* x) const {
        uint8_t* to = numbers + position * width();
        if (format == FP32) std::memcpy(to, x, D * sizeof(float));
        if (format == FP16) convert(x, reinterpret_cast<Half*>(to));
        if (format == BF16) convert(x, reinterpret_cast<Bf16*>(to));
        if (scales) quantise(x, to, scales + position * blocks());
    }

  private:
    template <typename From, typename To>
    void convert(const From* x, To* to) const {
        for (int64_t d = 0; d < D; d++) to[d] = To(x[d]);
    }

    void widen(const uint8_t* from, int64_t position, float* to) const {
        if (format == FP16) return widen_halves(reinterpret_cast<const Half*>(from), to);
        if (format == BF16) return convert(reinterpret_cast<const Bf16*>(from), to);
        const Half* scale = scales + position * blocks();
        if (format == Q8_0) return widen_bytes(reinterpret_cast<const int8_t*>(from), scale, to);
        int64_t half = D / 2;
        if (format == Q4_0)
            for (int64_t d = 0; d < half; d++) {
                to[d] = float(int32_t(from[d] & 15) - 8);
                to[half + d] = float(int32_t(from[d] >> 4) - 8);
            }
        if (format == NF4)
            for (int64_t d = 0; d < half; d++) {
                to[d] = NF4_LEVELS[from[d] & 15];
                to[half + d] = NF4_LEVELS[from[d] >> 4];
            }
        for (int64_t b = 0; b < blocks(); b++) {
            float factor = float(scale[b]);
            for (int64_t d = 0; d < BLOCK_WIDTH; d++) to[b * BLOCK_WIDTH + d] *= factor;
        }
    }

    void widen_halves(const Half* from, float* to) const {
#ifdef __F16C__
        for (int64_t d = 0; d < D; d += 8)
            _mm256_storeu_ps(to + d, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + d))));
#else
        convert(from, to);
#endif
    }

    void widen_bytes(const int8_t* from, const Half* scale, float* to) const {
        for (int64_t b = 0; b < blocks(); b++, from += BLOCK_WIDTH, to += BLOCK_WIDTH) {
            float factor = float(scale[b]);
            for (int64_t d = 0; d < BLOCK_WIDTH; d++) to[d] = float(from[d]) * factor;
        }
    }

    void quantise(const float* x, uint8_t* to, Half* scale) const {
        for (int64_t b = 0; b < blocks(); b++) {
            const float* block = x + b * BLOCK_WIDTH;
            int64_t most = 0;
            for (int64_t d = 1; d < BLOCK_WIDTH; d++)
                if (std::abs(block[d]) > std::abs(block[most])) most = d;
            float size = std::abs(block[most]);
            scale[b] = Half(format == Q8_0 ? size / 127 : format == Q4_0 ? block[most] / -8 : size);
            float wide = float(scale[b]);
            if (std::abs(wide) < LEAST_SCALE) wide = LEAST_SCALE;
            for (int64_t d = 0; d < BLOCK_WIDTH; d++) put(to, b * BLOCK_WIDTH + d, block[d] / wide);
        }
    }

    void put(uint8_t* to, int64_t d, float x) const {
        if (format == Q8_0) {
            to[d] = uint8_t(int8_t(std::min(127.0f, std::max(-127.0f, std::nearbyint(x)))));
            return;
        }
        int code = 0;
        if (format == Q4_0) code = int(std::min(15.0f, std::max(0.0f, std::nearbyint(x) + 8)));
        if (format == NF4)
            while (code < 15 && x > (NF4_LEVELS[code] + NF4_LEVELS[code + 1]) / 2) code++;
        int64_t half = D / 2;  // the first half of D is in the low bits
        to[d % half] = d < half ? uint8_t(code) : uint8_t(to[d - half] | (code << 4));
    }
};
