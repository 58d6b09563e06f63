// One decode step of the Thinker: a new token for each row in, its next-token logits out.
//
// The same mathematics as models/thinker.py and models/block.py for T = 1, and the same KV cache.
// What PyTorch spends on some hundred small calls a token is spent here on none.
//
// Threads meet rarely. All of them walk through the whole step; each takes its share of every
// matrix and prepares the (short) input for itself, which is quicker than waiting for it.
//
// Plain C structures, filled in by inference/native/step.py; nothing of torch is included, which
// makes compiling a matter of seconds. How weights are stored and multiplied is in matrix.h.

#include <chrono>

#include "matrix.h"

// ---- what Python fills in (inference/native/step.py has the same fields in the same order)

struct Layer {
    const float *attention_norm, *mlp_norm, *q_norm, *k_norm;
    Matrix q, k, v, o, gate, up, down;
};

struct Model {
    int64_t hidden, layer_count, heads, kv_heads, head_dim;
    float eps;
    int32_t kind;                  // of the weights: 0 fp32, 1 bf16, 2 int8
    const float* frequencies;      // (head_dim / 2,), of the rotary positions
    const float* norm;             // (hidden,)
    const Layer* layers;
    Matrix head;                   // vocabulary
};

struct Cache {
    void* const* keys;    // a layer each: (batch, kv_heads, capacity, head_dim)
    void* const* values;
    int64_t batch, capacity;
    int32_t bf16;         // else fp32
};

// ---- the parts of a block

// out = x / rms(x) * weight
void normalise(const float* x, const float* weight, int64_t n, float eps, float* out) {
    float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; i++) squares += x[i] * x[i];
    float scale = 1.0f / std::sqrt(squares / n + eps);
    for (int64_t i = 0; i < n; i++) out[i] = weight[i] * (x[i] * scale);
}

struct Rope {  // cosines and sines of each row's position
    std::vector<float> cos, sin;  // (batch, head_dim / 2)
};

// QK-norm, then pairs (i, i + D / 2) rotated by their position's angle. (D,) -> (D,)
void normalise_and_rotate(const Model& m, const float* x, const float* weight, const Rope& rope,
                          int64_t b, float* out) {
    int64_t half = m.head_dim / 2;
    const float *cos = &rope.cos[b * half], *sin = &rope.sin[b * half];
    normalise(x, weight, m.head_dim, m.eps, out);
    for (int64_t i = 0; i < half; i++) {
        float first = out[i], second = out[i + half];
        out[i] = first * cos[i] - second * sin[i];
        out[i + half] = second * cos[i] + first * sin[i];
    }
}

void softmax(float* scores, int64_t n) {
    float largest = scores[0], sum = 0.0f;
#pragma omp simd reduction(max : largest)
    for (int64_t s = 0; s < n; s++) largest = std::max(largest, scores[s]);
#pragma omp simd reduction(+ : sum)
    for (int64_t s = 0; s < n; s++) sum += scores[s] = exponential(scores[s] - largest);
    float inverse = 1.0f / sum;
    for (int64_t s = 0; s < n; s++) scores[s] *= inverse;
}

// scores (n,) = keys (n, D) @ query (D,), n a multiple of K; D of 16
template <int K, typename Stored>
void score(const float* query, const Stored* keys, int64_t n, int64_t D, float* scores) {
    for (int64_t s = 0; s < n; s += K) {
        Floats sums[K] = {};
        for (int64_t d = 0; d < D; d += LANES)
            for (int k = 0; k < K; k++)
                sums[k] += load<Floats>(query + d) * load_wide(keys + (s + k) * D + d);
        for (int k = 0; k < K; k++) scores[s + k] = total(sums[k]);
    }
}

// out (16 * K,) = weights (n,) @ the same channels of values (n, D)
template <int K, typename Stored>
void mix(const float* weights, const Stored* values, int64_t n, int64_t D, float* out) {
    Floats sums[K] = {};
    for (int64_t s = 0; s < n; s++)
        for (int k = 0; k < K; k++) sums[k] += weights[s] * load_wide(values + s * D + k * LANES);
    std::memcpy(out, sums, sizeof sums);
}

// One query over n positions of the cache; `mask` (n,) may be null.
template <typename Stored>
void attend(float* query, const Stored* keys, const Stored* values, int64_t n, int64_t D,
            const bool* mask, float* scores, float* out) {
    float scale = 1.0f / std::sqrt(float(D));
    for (int64_t d = 0; d < D; d++) query[d] *= scale;
    int64_t whole = n / 4 * 4;
    score<4>(query, keys, whole, D, scores);
    score<1>(query, keys + whole * D, n - whole, D, scores + whole);
    for (int64_t s = 0; mask && s < n; s++)
        if (!mask[s]) scores[s] = -INFINITY;
    softmax(scores, n);
    int64_t d = 0;
    for (; d + 4 * LANES <= D; d += 4 * LANES) mix<4>(scores, values + d, n, D, out + d);
    for (; d < D; d += LANES) mix<1>(scores, values + d, n, D, out + d);
}

// ---- the step

struct Step {
    const Model& model;
    const Cache& cache;
    int64_t past;      // positions in the cache already
    const bool* mask;  // (batch, past + 1), true for real tokens; null: all are
    Rope rope;
    // Shared by the threads, (batch, padded width) each. x is the residual stream.
    std::vector<float> x, q, k, v, attended, gate, up;
};

Step make_step(const Model& m, const Cache& cache, int64_t past, const bool* mask, const float* embedded) {
    int64_t B = cache.batch, half = m.head_dim / 2;
    const Layer& layer = m.layers[0];
    Step step{m, cache, past, mask, {}, {}, {}, {}, {}, {}, {}, {}};
    step.x.resize(B * padded(m.hidden));
    step.q.resize(B * layer.q.rows);
    step.k.resize(B * layer.k.rows);
    step.v.resize(B * layer.v.rows);
    step.attended.resize(B * m.heads * m.head_dim);
    step.gate.resize(B * layer.gate.rows);
    step.up.resize(B * layer.up.rows);
    step.rope = {std::vector<float>(B * half), std::vector<float>(B * half)};
    for (int64_t b = 0; b < B; b++) {
        std::memcpy(&step.x[b * padded(m.hidden)], embedded + b * m.hidden, m.hidden * sizeof(float));
        int64_t position = past;
        if (mask) {  // left padding must not shift positions: count real tokens only
            position = -1;
            for (int64_t s = 0; s <= past; s++) position += mask[b * (past + 1) + s];
        }
        for (int64_t i = 0; i < half; i++) {
            float angle = float(position) * m.frequencies[i];
            step.rope.cos[b * half + i] = std::cos(angle);
            step.rope.sin[b * half + i] = std::sin(angle);
        }
    }
    return step;
}

// One row and key-value head: store the new key and value, then answer the queries that share them.
template <typename Stored>
void attend_group(Step& step, int64_t index, int64_t b, int64_t head, float* scores) {
    const Model& m = step.model;
    const Layer& layer = m.layers[index];
    int64_t D = m.head_dim, group = m.heads / m.kv_heads, last = step.past;
    int64_t start = (b * m.kv_heads + head) * step.cache.capacity * D;
    Stored* keys = static_cast<Stored*>(step.cache.keys[index]) + start;      // (capacity, D)
    Stored* values = static_cast<Stored*>(step.cache.values[index]) + start;  // (capacity, D)
    float* vector = scores + last + 1;  // (D,), a key or a query
    normalise_and_rotate(m, &step.k[b * layer.k.rows + head * D], layer.k_norm, step.rope, b, vector);
    for (int64_t d = 0; d < D; d++) {
        keys[last * D + d] = Stored(vector[d]);
        values[last * D + d] = Stored(step.v[b * layer.v.rows + head * D + d]);
    }
    for (int64_t h = head * group; h < (head + 1) * group; h++) {
        const float* query = &step.q[b * layer.q.rows + h * D];
        normalise_and_rotate(m, query, layer.q_norm, step.rope, b, vector);
        const bool* mask = step.mask ? step.mask + b * (last + 1) : nullptr;
        attend(vector, keys, values, last + 1, D, mask, scores, &step.attended[(b * m.heads + h) * D]);
    }
}

// x + attention(norm(x)), then x + mlp(norm(x)); run by every thread.
template <typename W, typename Stored>
void run_layer(Step& step, int64_t index, Inputs<W>& inputs, float* scores) {
    const Model& m = step.model;
    const Layer& layer = m.layers[index];
    int64_t width = m.heads * m.head_dim, wide = padded(m.hidden);
    auto normed = [&](const float* weight) {
        inputs.fill(m.hidden, [&](int64_t b, float* row) {
            normalise(&step.x[b * wide], weight, m.hidden, m.eps, row);
        });
    };
    normed(layer.attention_norm);
    multiply(layer.q, inputs, step.q.data());
    multiply(layer.k, inputs, step.k.data());
    multiply(layer.v, inputs, step.v.data());
#pragma omp barrier
#pragma omp for collapse(2) schedule(static)
    for (int64_t b = 0; b < step.cache.batch; b++)
        for (int64_t head = 0; head < m.kv_heads; head++)
            attend_group<Stored>(step, index, b, head, scores);
    inputs.fill(width, [&](int64_t b, float* row) {
        std::memcpy(row, &step.attended[b * width], width * sizeof(float));
    });
    multiply(layer.o, inputs, step.x.data(), true);
#pragma omp barrier
    normed(layer.mlp_norm);
    multiply(layer.gate, inputs, step.gate.data());
    multiply(layer.up, inputs, step.up.data());
#pragma omp barrier
    inputs.fill(layer.gate.rows, [&](int64_t b, float* row) {
        const float *gate = &step.gate[b * layer.gate.rows], *up = &step.up[b * layer.up.rows];
        for (int64_t i = 0; i < layer.gate.rows; i++)
            row[i] = gate[i] / (1.0f + exponential(-gate[i])) * up[i];
    });
    multiply(layer.down, inputs, step.x.data(), true);
#pragma omp barrier
}

// Returns the seconds that the vocabulary's scores took.
template <typename W, typename Stored>
double run(Step& step, float* logits, int threads) {
    const Model& m = step.model;
    int64_t widest = std::max({m.hidden, m.heads * m.head_dim, m.layers[0].gate.rows});
    std::chrono::steady_clock::time_point start;
#pragma omp parallel num_threads(threads)
    {
        Inputs<W> inputs(step.cache.batch, widest);
        std::vector<float> scores(step.past + 1 + m.head_dim);
        for (int64_t index = 0; index < m.layer_count; index++)
            run_layer<W, Stored>(step, index, inputs, scores.data());
#pragma omp master
        start = std::chrono::steady_clock::now();
        inputs.fill(m.hidden, [&](int64_t b, float* row) {
            normalise(&step.x[b * padded(m.hidden)], m.norm, m.hidden, m.eps, row);
        });
        multiply(m.head, inputs, logits);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename W>
double run_with(Step& step, float* logits, int threads) {
    return step.cache.bf16 ? run<W, Bf16>(step, logits, threads) : run<W, float>(step, logits, threads);
}

// embedded: (batch, hidden), fp32. logits: (batch, head.rows).
extern "C" double decode_step(const Model* model, const Cache* cache, int64_t past, const bool* mask,
                              const float* embedded, float* logits, int32_t threads) {
    Step step = make_step(*model, *cache, past, mask, embedded);
    if (model->kind == 0) return run_with<Float32Weights>(step, logits, threads);
    if (model->kind == 1) return run_with<Bfloat16Weights>(step, logits, threads);
    return run_with<Int8Weights>(step, logits, threads);
}
