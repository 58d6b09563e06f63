// The Thinker's pass over new positions: embeddings of each row in, its next-token logits out.
//
// The same mathematics as models/thinker.py and models/block.py, and the same KV cache. One new
// position a row is a step of decoding; several are a prompt being read, or guesses being checked.
// What PyTorch spends on some hundred small calls is spent here on none.
//
// Threads meet rarely: all of them walk through the whole pass. Where positions are few, each takes
// its share of every matrix and prepares the (short) inputs for itself, which is quicker than
// waiting for them. Where they are many, each takes its share of the positions.
//
// Plain C structures, filled in by inference/native/step.py; nothing of torch is included, which
// makes compiling a matter of seconds. How weights are stored and multiplied is in matrix.h.

#include <chrono>
#include <omp.h>
#include <optional>

#include "attention.h"
#include "tiles.h"

constexpr int64_t FEW = 16;     // positions of a row that are stepped over, as one is; more are read
constexpr int64_t CHUNK = 128;  // vectors read at once: what is computed of them stays in the cache
constexpr int64_t BLOCK = 8;    // positions whose queries look at a head together

// ---- what Python fills in (inference/native/step.py has the same fields in the same order)

struct Layer {
    const float *attention_norm, *mlp_norm, *q_norm, *k_norm;
    Matrix qkv, o, gate_up, down;  // queries, keys and values side by side; so gate and up
};

struct Model {
    int64_t hidden, layer_count, heads, kv_heads, head_dim, inner, vocabulary;
    float eps;
    int32_t kind;                  // of the weights: 0 fp32, 1 bf16, 2 int8
    int32_t bf16_embeddings;       // else fp32
    const void* embeddings;        // (vocabulary, hidden)
    const float* frequencies;      // (head_dim / 2,), of the rotary positions
    const float* norm;             // (hidden,)
    const Layer* layers;
    Matrix head;                   // vocabulary
};

struct New {  // what is to be run
    int64_t T;              // positions of each row
    const int64_t* ids;     // (batch, T), or null
    const float* embedded;  // (batch, T, hidden) where there are no ids
    const bool* mask;       // (batch, past + T), true for real tokens; null: all are
    int64_t window;         // positions a query looks back, itself counted; 0: to the beginning
    bool every;             // whether scores are wanted of all positions, or the last of each row
};

struct Scores {
    float* logits;       // (batch, 1 or T, head.rows)
    int64_t* likeliest;  // (batch, 1 or T)
};

struct Cache {
    Store keys, values;
    int64_t batch, capacity;
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

// QK-norm, then pairs (i, i + D / 2) rotated by an angle. (D,) -> (D,); turn: D / 2 cosines, sines
void normalise_and_rotate(const Model& m, const float* x, const float* weight, const float* turn,
                          float* out) {
    int64_t half = m.head_dim / 2;
    normalise(x, weight, m.head_dim, m.eps, out);
    for (int64_t i = 0; i < half; i++) {
        float first = out[i], second = out[i + half];
        out[i] = first * turn[i] - second * turn[i + half];
        out[i + half] = second * turn[i] + first * turn[i + half];
    }
}

// ---- the pass over T positions of each row, T * batch vectors

struct Pass {
    const Model& model;
    const Cache& cache;
    int64_t past, T;             // positions in the cache already, and new ones
    int64_t window;              // see New
    bool reading;                // many vectors: threads share them, not the matrices
    std::vector<int64_t> first;  // (batch,), the position of a row's first real token
    // Shared by the threads, a row for each vector (b * T + t). x is the residual stream.
    std::vector<float> x, qkv, attended, gate_up, turns;

    Pass(const Model& m, const Cache& cache, int64_t past, int64_t T, int64_t window, bool reading)
        : model(m), cache(cache), past(past), T(T), window(window), reading(reading),
          first(cache.batch), x(count() * m.layers[0].o.rows), qkv(count() * m.layers[0].qkv.rows),
          attended(count() * m.heads * m.head_dim), gate_up(count() * m.layers[0].gate_up.rows),
          turns(count() * m.head_dim) {}

    int64_t count() const { return cache.batch * T; }
};

// Padding is on the left: it must not shift positions.
void find_first(Pass& pass, const bool* mask, int64_t width) {
    for (int64_t b = 0; mask && b < pass.cache.batch; b++)
        while (pass.first[b] < width && !mask[b * width + pass.first[b]]) pass.first[b]++;
}

// out (hidden,) = what stands at a place of (batch, T)
void embed(const Model& m, const New& input, int64_t place, float* out) {
    if (!input.ids) {
        std::memcpy(out, input.embedded + place * m.hidden, m.hidden * sizeof(float));
        return;
    }
    int64_t start = input.ids[place] * m.hidden;
    for (int64_t d = 0; d < m.hidden; d++)
        out[d] = m.bf16_embeddings ? float(static_cast<const Bf16*>(m.embeddings)[start + d])
                                   : static_cast<const float*>(m.embeddings)[start + d];
}

// Embeddings and angles of positions `from` to `from + pass.T` of the input
void begin(Pass& pass, const New& input, int64_t from) {
    const Model& m = pass.model;
    int64_t half = m.head_dim / 2;
    for (int64_t i = 0; i < pass.count(); i++) {
        int64_t b = i / pass.T, t = i % pass.T;
        embed(m, input, b * input.T + from + t, &pass.x[i * m.layers[0].o.rows]);
        float position = std::max<int64_t>(0, pass.past + t - pass.first[b]);
        for (int64_t d = 0; d < half; d++) {
            pass.turns[i * m.head_dim + d] = std::cos(position * m.frequencies[d]);
            pass.turns[i * m.head_dim + half + d] = std::sin(position * m.frequencies[d]);
        }
    }
}

// The keys or values of one head of row b.
Vectors stored(const Store& store, int64_t index, const Pass& pass, int64_t b, int64_t head) {
    int64_t before = (b * pass.model.kv_heads + head) * pass.cache.capacity;
    return Vectors(store, index, before, pass.model.head_dim);
}

// Put a vector's new key and value of one head into the cache.
void store(Pass& pass, int64_t index, int64_t i, int64_t head, float* key) {
    const Model& m = pass.model;
    const Layer& layer = m.layers[index];
    int64_t D = m.head_dim, b = i / pass.T, position = pass.past + i % pass.T;
    const float* made = &pass.qkv[i * layer.qkv.rows + (m.heads + head) * D];
    normalise_and_rotate(m, made, layer.k_norm, &pass.turns[i * D], key);
    stored(pass.cache.keys, index, pass, b, head).write(position, key);
    stored(pass.cache.values, index, pass, b, head).write(position, made + m.kv_heads * D);
}

// Answer the queries that share a key-value head, of positions t to t + BLOCK of row b. Those of
// padding are left out: nobody looks at what becomes of it.
void attend_block(Pass& pass, int64_t index, int64_t b, int64_t head, int64_t t, Queries& queries) {
    const Model& m = pass.model;
    const Layer& layer = m.layers[index];
    int64_t D = m.head_dim, group = m.heads / m.kv_heads, last = std::min(t + BLOCK, pass.T);
    int64_t first = pass.first[b];
    t = std::max(t, first - pass.past);
    if (t >= last) return;
    float scale = 1.0f / std::sqrt(float(D));
    queries.count = 0;
    for (int64_t i = b * pass.T + t; i < b * pass.T + last; i++)
        for (int64_t h = head * group; h < (head + 1) * group; h++) {
            float* query = &queries.vectors[queries.count * D];
            const float* made = &pass.qkv[i * layer.qkv.rows + h * D];
            normalise_and_rotate(m, made, layer.q_norm, &pass.turns[i * D], query);
            for (int64_t d = 0; d < D; d++) query[d] *= scale;
            int64_t end = pass.past + i % pass.T + 1;
            queries.starts[queries.count] = pass.window ? std::max(first, end - pass.window) : first;
            queries.ends[queries.count++] = end;
        }
    attend(queries, stored(pass.cache.keys, index, pass, b, head),
           stored(pass.cache.values, index, pass, b, head));
    for (int64_t q = 0; q < queries.count; q++) {
        int64_t i = b * pass.T + t + q / group, h = head * group + q % group;
        std::memcpy(&pass.attended[(i * m.heads + h) * D], &queries.out[q * D], D * sizeof(float));
    }
}

struct Share {  // of a thread
    int64_t thread, threads;

    int64_t begin(int64_t n) const { return n * thread / threads; }
    int64_t end(int64_t n) const { return n * (thread + 1) / threads; }
};

// The part of one thread: its vectors [first, end) of the pass, its panels of every matrix.
template <typename W>
struct Worker {
    Pass& pass;
    Share panels;
    int64_t first, end;
    Inputs<W> inputs;
    Queries queries;
    std::vector<float> key;

    Worker(Pass& pass, Share share)
        : pass(pass), panels(pass.reading ? Share{0, 1} : share),
          first(pass.reading ? share.begin(pass.count()) : 0),
          end(pass.reading ? share.end(pass.count()) : pass.count()),
          inputs(std::max(end - first, pass.cache.batch),
                 std::max({pass.model.hidden, pass.model.heads * pass.model.head_dim, pass.model.inner})),
          queries(std::min(BLOCK, pass.T) * pass.model.heads / pass.model.kv_heads,
                  pass.model.head_dim, pass.past + pass.T),
          key(pass.model.head_dim) {}

    // out (vectors, rows) = inputs @ matrix.T, or added to what is there
    void times(const Matrix& matrix, float* out, bool add = false) {
        int64_t blocks = matrix.rows / (2 * LANES);
        Panels mine{2 * panels.begin(blocks), 2 * panels.end(blocks)};
        multiply(matrix, mine, inputs, out + first * matrix.rows, add);
    }

    void normed(const float* weight) {
        const Model& m = pass.model;
        inputs.fill(end - first, m.hidden, [&](int64_t i, float* row) {
            normalise(&pass.x[(first + i) * m.layers[0].o.rows], weight, m.hidden, m.eps, row);
        });
    }

    void attention(int64_t index) {
        const Model& m = pass.model;
        int64_t width = m.heads * m.head_dim;
#pragma omp for collapse(2) schedule(static)
        for (int64_t i = 0; i < pass.count(); i++)
            for (int64_t head = 0; head < m.kv_heads; head++)
                store(pass, index, i, head, key.data());
#pragma omp for collapse(3) schedule(static, 1)
        for (int64_t b = 0; b < pass.cache.batch; b++)
            for (int64_t head = 0; head < m.kv_heads; head++)
                for (int64_t t = 0; t < pass.T; t += BLOCK)
                    attend_block(pass, index, b, head, t, queries);
        inputs.fill(end - first, width, [&](int64_t i, float* row) {
            std::memcpy(row, &pass.attended[(first + i) * width], width * sizeof(float));
        });
    }

    void gated(const Layer& layer) {
        int64_t inner = pass.model.inner;
        inputs.fill(end - first, inner, [&](int64_t i, float* row) {
            const float *gate = &pass.gate_up[(first + i) * layer.gate_up.rows], *up = gate + inner;
            for (int64_t d = 0; d < inner; d++)
                row[d] = gate[d] / (1.0f + exponential(-gate[d])) * up[d];
        });
    }

    // x + attention(norm(x)), then x + mlp(norm(x))
    void run_layer(int64_t index) {
        const Layer& layer = pass.model.layers[index];
        normed(layer.attention_norm);
        times(layer.qkv, pass.qkv.data());
#pragma omp barrier
        attention(index);
        times(layer.o, pass.x.data(), true);
#pragma omp barrier
        normed(layer.mlp_norm);
        times(layer.gate_up, pass.gate_up.data());
#pragma omp barrier
        gated(layer);
        times(layer.down, pass.x.data(), true);
#pragma omp barrier
    }
};

// Logits and likeliest token of each row's last position, or of all. All threads share the vocabulary.
template <typename W>
void score_vocabulary(const Pass& pass, Share share, Inputs<W>& inputs, bool every,
                      const Scores& out) {
    const Model& m = pass.model;
    int64_t each = every ? pass.T : 1, blocks = m.head.rows / (2 * LANES);
    inputs.fill(pass.cache.batch * each, m.hidden, [&](int64_t i, float* row) {
        int64_t vector = every ? i : (i + 1) * pass.T - 1;
        normalise(&pass.x[vector * m.layers[0].o.rows], m.norm, m.hidden, m.eps, row);
    });
    multiply(m.head, Panels{2 * share.begin(blocks), 2 * share.end(blocks)}, inputs, out.logits);
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t i = 0; i < inputs.count; i++) {
        const float* row = out.logits + i * m.head.rows;
        int64_t best = std::find(row, row + m.vocabulary, largest(row, m.vocabulary)) - row;
        out.likeliest[i] = best < m.vocabulary ? best : 0;  // none where all are NaN
    }
}

// Run the pass, and score where that is wanted. Returns the seconds that the scores took.
template <typename W>
double run(Pass& pass, bool every, const Scores* out, int threads) {
    std::chrono::steady_clock::time_point start;
#pragma omp parallel num_threads(threads)
    {
        Share share{omp_get_thread_num(), omp_get_num_threads()};
        Worker<W> worker(pass, share);
        std::optional<TileRegisters> registers;
        if (tiles_allowed()) registers.emplace(worker.inputs.most);
        for (int64_t index = 0; index < pass.model.layer_count; index++) worker.run_layer(index);
#pragma omp master
        start = std::chrono::steady_clock::now();
        if (out) score_vocabulary(pass, share, worker.inputs, every, *out);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

extern "C" double run_positions(const Model* model, const Cache* cache, int64_t past, const New* input,
                                const Scores* out, int32_t threads) {
    int64_t T = input->T;
    bool reading = !input->every && T > FEW;
    int64_t piece = reading ? std::max<int64_t>(1, CHUNK / cache->batch) : T;
    double seconds = 0.0;
    for (int64_t from = 0; from < T; from += piece) {
        Pass pass(*model, *cache, past + from, std::min(piece, T - from), input->window, reading);
        find_first(pass, input->mask, past + T);
        begin(pass, *input, from);
        const Scores* wanted = from + piece >= T ? out : nullptr;
        if (model->kind == 0) seconds = run<Float32Weights>(pass, input->every, wanted, threads);
        if (model->kind == 1) seconds = run<Bfloat16Weights>(pass, input->every, wanted, threads);
        if (model->kind == 2) seconds = run<Int8Weights>(pass, input->every, wanted, threads);
    }
    return seconds;
}
