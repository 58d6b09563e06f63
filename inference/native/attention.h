// Attention of a few queries over the keys and values of one head, in fp32.
//
// Queries that share a head are answered together, since reading (and widening) a key costs as much
// as multiplying it. What each of them adds up, and in which order, does not depend on the others:
// a query gets the same numbers alone and in company.

#pragma once

#include "formats.h"

constexpr int64_t NEAR = 64;  // positions whose keys, or values, stay in the first cache for all queries

inline void softmax(float* scores, int64_t n) {
    float most = largest(scores, n), sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t s = 0; s < n; s++) sum += scores[s] = exponential(scores[s] - most);
    float inverse = 1.0f / sum;
    for (int64_t s = 0; s < n; s++) scores[s] *= inverse;
}

// One head's queries, and room for what is computed of them.
struct Queries {
    int64_t count, D, pitch;     // pitch: positions that there is room for, a multiple of 16
    std::vector<float> vectors;  // (count, D), scaled by 1 / sqrt(D)
    std::vector<float> scores;   // (count, pitch)
    std::vector<float> out;      // (count, D)
    std::vector<float> room;     // (NEAR, D), keys or values that are stored in fewer bits
    std::vector<int64_t> starts, ends;  // (count,), the positions that each looks at; both ascend

    Queries(int64_t most, int64_t D, int64_t positions)
        : count(0), D(D), pitch(padded(positions)), vectors(most * D), scores(most * pitch), out(most * D),
          room(NEAR * D), starts(most), ends(most) {}
};

// scores of Q queries, from `q` on, with keys (end - first, D) of positions `first` to `end`
template <int Q>
inline void score(Queries& queries, int64_t q, const float* keys, int64_t first, int64_t end) {
    const float* vectors = &queries.vectors[q * queries.D];
    for (int64_t s = first; s < end; s++) {
        Floats sums[Q] = {};
        for (int64_t d = 0; d < queries.D; d += LANES) {
            Floats key = load<Floats>(keys + (s - first) * queries.D + d);
#pragma GCC unroll 4
            for (int i = 0; i < Q; i++) sums[i] += load<Floats>(vectors + i * queries.D + d) * key;
        }
#pragma GCC unroll 4
        for (int i = 0; i < Q; i++) queries.scores[(q + i) * queries.pitch + s] = total(sums[i]);
    }
}

// out += weights of Q queries times values, for C vectors of channels from `d` on
template <int Q, int C>
inline void mix(Queries& queries, int64_t q, const float* values, int64_t first, int64_t end, int64_t d) {
    const float* weights = &queries.scores[q * queries.pitch];
    float* out = &queries.out[q * queries.D + d];
    Floats sums[Q][C];
    for (int i = 0; i < Q; i++) std::memcpy(sums[i], out + i * queries.D, sizeof sums[i]);
    for (int64_t s = first; s < end; s++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            Floats value = load<Floats>(values + (s - first) * queries.D + d + c * LANES);
#pragma GCC unroll 4
            for (int i = 0; i < Q; i++) sums[i][c] += weights[i * queries.pitch + s] * value;
        }
    for (int i = 0; i < Q; i++) std::memcpy(out + i * queries.D, sums[i], sizeof sums[i]);
}

template <int Q>
inline void mix(Queries& queries, int64_t q, const float* values, int64_t first, int64_t end) {
    int64_t d = 0;
    for (; d + 4 * LANES <= queries.D; d += 4 * LANES) mix<Q, 4>(queries, q, values, first, end, d);
    for (; d < queries.D; d += LANES) mix<Q, 1>(queries, q, values, first, end, d);
}

// Calls `run` with 4, 2 or 1 and the first query of as many, as a compile-time number.
template <typename Run>
inline void in_groups(int64_t count, Run run) {
    int64_t q = 0;
    for (; q + 4 <= count; q += 4) run(std::integral_constant<int, 4>(), q);
    for (; q + 2 <= count; q += 2) run(std::integral_constant<int, 2>(), q);
    for (; q < count; q++) run(std::integral_constant<int, 1>(), q);
}

// Answer the queries over the keys and values of a head. What another query looks at beyond one's
// own positions gets the weight 0.
inline void attend(Queries& queries, const Vectors& keys, const Vectors& values) {
    int64_t first = queries.starts[0], end = queries.ends[queries.count - 1];
    for (int64_t near = first; near < end; near += NEAR) {
        int64_t until = std::min(near + NEAR, end);
        const float* wide = keys.read(near, until, queries.room.data());
        in_groups(queries.count, [&](auto Q, int64_t q) { score<Q()>(queries, q, wide, near, until); });
    }
    for (int64_t q = 0; q < queries.count; q++) {
        float* row = &queries.scores[q * queries.pitch];
        softmax(row + queries.starts[q], queries.ends[q] - queries.starts[q]);
        std::fill(row + first, row + queries.starts[q], 0.0f);
        std::fill(row + queries.ends[q], row + end, 0.0f);
    }
    std::fill(queries.out.begin(), queries.out.begin() + queries.count * queries.D, 0.0f);
    for (int64_t near = first; near < end; near += NEAR) {
        int64_t until = std::min(near + NEAR, end);
        const float* wide = values.read(near, until, queries.room.data());
        in_groups(queries.count, [&](auto Q, int64_t q) { mix<Q()>(queries, q, wide, near, until); });
    }
}
