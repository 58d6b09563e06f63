"""The audio stage: augmentation, CTC, and the text tokens that a batch is scored against."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from data.speech.asr_corpus import MEL_OFFSET, MEL_STEPS, mel_of
from data.speech.augment import coloured_noise
from models.audio import AudioConfig
from models.ctc import ALPHABET
from models.errors import UserError
from models.mel import log_mel
from models.omni import OmniModel
from tests.training.records import Records
from training.augmentation import (
    BAND_MASK,
    BEND,
    COLOUR,
    MASK_EVERY,
    SWAY,
    WARP,
    add_noise,
    change_microphone,
    change_tempo,
    mask_mel,
    noises,
    perturb_vocal_tract,
    powers,
)
from training.ctc import ctc_frames_needed, ctc_labels, ctc_loss, disagreement, token_places
from training.objective import Paths, epoch_order
from training.objectives.audio import (
    CONSISTENCY_WEIGHT,
    TEMPO,
    TOKEN_WEIGHT,
    AudioObjective,
    AudioTask,
    even_groups,
    prepare,
)

SIZES = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "num_kv_heads": 1, "head_dim": 16}


@pytest.fixture(scope="module")
def task() -> AudioTask:
    torch.manual_seed(0)
    config = AudioConfig(**SIZES, intermediate_size=48, conv_size=32)
    return AudioTask(config, torch.randn(1500, 24)).eval()


def test_a_warp_moves_formants_and_keeps_time():
    levels = np.zeros((128, 5), np.uint8)
    levels[60, 2] = 200
    peaks = set()
    for seed in range(60):
        warped = perturb_vocal_tract(levels, np.random.default_rng(seed))
        assert warped.shape == levels.shape and warped.dtype == levels.dtype
        assert not warped[:, [0, 1, 3, 4]].any()
        peaks.add(int(warped[:, 2].argmax()))
    assert 60 in peaks and len(peaks) > 5
    least, most = (1 - WARP) * (1 - BEND) * (1 - SWAY), (1 + WARP) * (1 + BEND) * (1 + SWAY)
    assert 60 / most - 1 <= min(peaks) < 58 and 62 < max(peaks) <= 60 / least + 1


def test_a_warp_bends_the_mel_axis_as_well():
    levels = np.zeros((128, 1), np.uint8)
    levels[[30, 90]] = 200
    apart = set()
    for seed in range(60):
        warped = perturb_vocal_tract(levels, np.random.default_rng(seed))[:, 0].astype(int)
        low, high = warped[:60].argmax(), 60 + warped[60:].argmax()
        apart.add(round(high / low, 1))
    assert min(apart) < 2.9 and max(apart) > 3.1  # formants do not all move by one factor


def test_a_warp_is_another_one_for_the_next_sound_but_not_for_the_next_frame():
    levels = np.zeros((128, 200), np.uint8)
    levels[80] = 200
    moved = []
    for seed in range(40):
        places = perturb_vocal_tract(levels, np.random.default_rng(seed)).argmax(0).astype(int)  # (T,)
        assert np.abs(np.diff(places)).max() <= 2
        moved.append(np.ptp(places))
    assert max(moved) > 4 and min(moved) == 0  # one in four is left as it was


def test_longer_clips_have_more_gaps():
    frames = 20 * MASK_EVERY
    clips = [mask_mel(np.full((128, frames), 90, np.uint8), np.random.default_rng(k)) for k in range(20)]
    gaps = [np.diff(clip.any(0).astype(int), prepend=1) == -1 for clip in clips]
    assert 14 < np.mean([gap.sum() for gap in gaps]) <= 20


def test_bands_of_the_mel_axis_are_silenced():
    clips = [mask_mel(np.full((128, 400), 90, np.uint8), np.random.default_rng(k)) for k in range(40)]
    silent = [int((~clip.any(1)).sum()) for clip in clips]
    assert 0.6 * BAND_MASK < np.mean(silent) < 1.2 * BAND_MASK
    assert BAND_MASK < max(silent) <= 2 * BAND_MASK


def test_two_views_differ_by_what_each_says_of_the_other():
    torch.manual_seed(0)
    says = torch.randn(2, 6, 28).log_softmax(-1)
    lengths = torch.tensor([6, 4, 6, 4])
    assert disagreement(torch.cat([says, says]), lengths) == 0
    other = says.clone()
    other[1, 4:] = torch.randn(2, 28).log_softmax(-1)  # past the end of the second clip
    assert disagreement(torch.cat([says, other]), lengths) == 0
    other[0, 2] = torch.randn(28).log_softmax(-1)
    there, back = says[0, 2], other[0, 2]
    between = (there.exp() * (there - back)).sum() + (back.exp() * (back - there)).sum()
    views = torch.cat([says, other]).requires_grad_()
    loss = disagreement(views, lengths)
    torch.testing.assert_close(loss, between)
    loss.backward()
    torch.testing.assert_close(views.grad[0, 2], -back.exp())  # it moves towards what the other said


def test_a_batch_holds_each_clip_in_two_views():
    objective = object.__new__(AudioObjective)
    mels = [np.full((128, 160), level, np.uint8) for level in (60, 120, 90, 150)]
    reader = [{"mel": mel, "text": "Hello."} for mel in mels]
    objective.seed, objective.noisy, objective.masked = 3, 0.0, 1.0
    objective.groups = [[(reader, 0), (reader, 1)], [(reader, 2), (reader, 3)]]
    objective.tempo = 0.0
    objective.tokenizer = SimpleNamespace(encode=lambda text: [5], decode=lambda ids: "hello")
    batch = objective.batch(0, 0, 1)
    assert batch["mel"].shape == (4, 128, 160) and len(batch["letters"]) == 4
    assert not torch.equal(batch["mel"][0], batch["mel"][2])  # disturbed in another way
    levels = (batch["mel"].flatten(1).median(1).values + MEL_OFFSET) * MEL_STEPS  # (4,)
    wanted = [(60, 120), (90, 150)][epoch_order(3, 0, 2)[0]] * 2
    torch.testing.assert_close(levels, torch.tensor(wanted, dtype=torch.float), atol=20, rtol=0)
    again = objective.batch(0, 0, 1)
    assert torch.equal(batch["mel"], again["mel"])


def test_groups_last_alike_however_long_their_clips():
    seconds = sorted([0.4] * 3000 + [2.0 + 0.01 * n for n in range(400)] + [9.0] * 300)
    groups = even_groups(seconds, 16)
    assert [i for group in groups for i in group] == list(range(groups[-1].stop))  # each clip once
    assert len(seconds) - groups[-1].stop < 16
    budget = 16 * sum(seconds) / len(seconds)
    lasts = [len(group) * seconds[group[-1]] for group in groups]
    assert all(len(group) >= 8 for group in groups)
    usual = [last for last, group in zip(lasts, groups, strict=True) if len(group) > 8]
    assert 0.9 * budget < np.mean(usual) <= max(usual) <= budget
    assert len(groups[0]) > 50 and len(groups[-1]) == 8
    assert even_groups([1.0] * 12, 4) == [range(0, 4), range(4, 8), range(8, 12)]


def test_a_clip_said_faster_keeps_its_sounds_and_their_order():
    levels = np.repeat(np.arange(10, 210, 10, np.uint8)[None], 128, axis=0).repeat(8, axis=1)  # (128, 160)
    for rate in (0.75, 1.4):
        said = change_tempo(levels, rate)
        assert said.dtype == np.uint8 and said.shape == (128, int(160 / rate))
        assert (np.diff(said[0].astype(int)) >= 0).all() and set(range(10, 210, 10)) <= set(said[0].tolist())
        near = levels[5, (np.arange(int(160 / rate)) * rate).astype(int)]
        np.testing.assert_allclose(said[5].astype(int), near, atol=10)
    assert change_tempo(levels, 1.0) is levels


def at_tempo(text: str, tempo: float) -> AudioObjective:
    """Eighty groups of one clip of 1.6 s, `tempo` of which are to be said at another speed."""
    objective = object.__new__(AudioObjective)
    reader = Records([{"mel": np.full((128, 160), 90, np.uint8), "text": text, "seconds": 1.6}])
    objective.seed, objective.noisy, objective.masked = 3, 0.0, 0.0
    objective.groups, objective.tempo = [[(reader, 0)]] * 80, tempo
    objective.tokenizer = SimpleNamespace(encode=lambda text: [5], decode=lambda ids: text)
    return objective


def test_tempo_is_one_for_a_group():
    objective = at_tempo("Hello.", 0.5)
    rates = np.array([objective.rate(number) for number in range(80)])
    changed = rates[rates != 1.0]
    assert 25 < len(changed) < 55 and TEMPO[0] <= changed.min() < 0.85 and 1.2 < changed.max() <= TEMPO[1]
    for step in range(8):
        number = int(epoch_order(3, 0, 80)[step])
        batch = objective.batch(step, 0, 1)
        assert batch["lengths"].tolist() == [int(160 / rates[number])] * 2  # both views alike
    assert {at_tempo("Hello.", 0.0).rate(number) for number in range(80)} == {1.0}
    crowded = at_tempo("so many letters that there is hardly room for them to be said in a clip", 1.0)
    rates = [crowded.rate(number) for number in range(80)]
    assert max(rates) < 1.2 and min(rates) < 0.8  # faster, CTC would have too few slots


def test_a_coloured_spectrum_is_the_same_at_all_times_and_leaves_silence():
    levels = np.full((128, 6), 100, np.uint8)
    levels[:, 3:] = 1  # silence
    changed = 0
    for seed in range(60):
        coloured = change_microphone(levels, np.random.default_rng(seed)).astype(int)
        assert (coloured[:, 3:] == 1).all() and (coloured[:, 0] == coloured[:, 2]).all()
        steps = np.abs(np.diff(coloured[:, 0]))
        assert steps.max() <= 0.5 * 15 * COLOUR + 1  # slow over the mel axis
        changed += (coloured[:, 0] != 100).any()
    assert 15 < changed < 45


def test_noise_fills_pauses_and_leaves_what_is_louder():
    levels = np.full((128, 400), 20, np.uint8)
    levels[40:60, ::2] = 150
    rng = np.random.default_rng(0)
    for mel in (add_noise(levels, rng) for _ in range(20)):
        assert mel.dtype == levels.dtype and mel[:, 1::2].mean() > 40
        assert mel[40:60, ::2].mean() > mel[40:60, 1::2].mean()
        assert abs(mel[40:60, ::2].mean() - 150) < 5


def test_noise_is_as_in_the_wave_and_comes_in_blobs():
    wave = 0.1 * coloured_noise(64_000, 1.0, np.random.default_rng(5))  # what noise in a wave looks like
    real = mel_of(wave).astype(float)  # (128, 400)
    silence = np.full((128, 400), 20, np.uint8)
    silence[:, 0] = 200  # something that noise is compared with
    rng = np.random.default_rng(0)
    mels = [add_noise(silence, rng)[:, 1:].astype(float) for _ in range(20)]
    for distance, least, most in ((1, 0.3, 0.6), (4, -0.1, 0.1)):
        alike = [np.corrcoef(mel[60, :-distance], mel[60, distance:])[0, 1] for mel in (real, *mels)]
        assert least < np.mean(alike[1:]) < most and alike[0] == pytest.approx(np.mean(alike[1:]), abs=0.15)
    assert len({mel.tobytes() for mel in mels}) == 20  # each time another one


def test_powers_of_bytes_do_not_wrap_around():
    quiet, loud = powers(np.array([100, 200], np.uint8))
    assert loud / quiet == pytest.approx(np.exp(2 * 100 / MEL_STEPS), rel=1e-4)


def test_steady_noises_have_the_spectra_of_their_waves():
    rng = np.random.default_rng(7)
    for noise, slope in ((noises()[0], 0.0), (noises()[-1], 2.0)):  # white, brown
        mel = log_mel(torch.from_numpy(0.1 * coloured_noise(128_000, slope, rng)))
        real = (2 * mel).exp().mean(1)  # (128,)
        decibels = 10 * np.log10(noise.mean(1) / (real / real.mean()).numpy())  # (128,)
        assert np.abs(decibels).max() < 3


@pytest.mark.parametrize("disturb", [add_noise, mask_mel])
def test_a_share_of_the_clips_is_disturbed(disturb):
    levels = np.full((128, 40), 90, np.uint8)
    for share, least, most in ((0.0, 0, 0), (0.3, 30, 60), (1.0, 145, 150)):
        rng = np.random.default_rng(0)
        assert least <= sum((disturb(levels, rng, share) != levels).any() for _ in range(150)) <= most


@torch.no_grad()
def test_the_stage_begins_with_the_weights_of_a_checkpoint(nano_omni_dir):
    begun = OmniModel.from_pretrained(nano_omni_dir)
    objective = object.__new__(AudioObjective)
    torch.manual_seed(1)
    words = begun.thinker.model.embed_tokens.weight.detach()
    objective.model = AudioTask(begun.audio.config, words)
    objective.init_from(nano_omni_dir)
    assert torch.equal(objective.model.audio.ctc.weight, begun.audio.ctc.weight)
    assert torch.equal(objective.model.projector.up.weight, begun.audio_projector.up.weight)
    objective.model = AudioTask(replace(begun.audio.config, num_layers=7), words)
    with pytest.raises(UserError, match="other sizes"):
        objective.init_from(nano_omni_dir)


def test_a_path_loses_repeats_and_blanks():
    assert ctc_labels([0, 5, 5, 0, 5, 7, 7, 0]) == [5, 5, 7]
    assert ctc_labels([]) == []


@pytest.mark.parametrize("labels, slots", [("abc", 3), ("aab", 4), ([7, 7, 7], 5), ("", 0)])
def test_equal_neighbours_need_a_blank_between(labels, slots):
    assert ctc_frames_needed(labels) == slots


def test_a_clip_without_room_is_left_out_and_never_free():
    slots = torch.zeros(1, 8, len(ALPHABET) + 1).log_softmax(-1)
    enough, short = (ctc_loss(slots, torch.tensor([8]), [torch.arange(1, n + 1)]) for n in (8, 9))
    assert enough.isfinite() and short == torch.inf  # not 0, as zero_infinity would have it
    objective = AudioObjective.__new__(AudioObjective)
    objective.tokenizer = SimpleNamespace(encode=lambda text: [0])
    assert objective.fits({"text": "Yes!", "seconds": 0.16})  # two tokens, of which one is sure
    assert not objective.fits({"text": "Yes, sir!", "seconds": 0.16})


def test_candidates_hold_the_blank_first_and_every_piece_of_the_batch(task):
    pieces = [torch.tensor([9, 1400, 9]), torch.tensor([3])]
    candidates, places = task.draw_candidates(pieces)
    assert candidates[0] == 0 and len(candidates) == len(candidates.unique()) == 1024
    for row, place in zip(pieces, places, strict=True):
        assert torch.equal(candidates[place], row)


def test_among_candidates_the_odds_between_pieces_are_those_among_all(task):
    encoded = torch.randn(2, 5, 32)
    candidates = torch.tensor([0, 4, 900])
    all_odds = task.text_tokens(encoded)[..., candidates]
    few = task.text_tokens(encoded, candidates)
    torch.testing.assert_close(few - few[..., :1], all_odds - all_odds[..., :1])


def test_a_piece_stands_where_its_last_letter_is_heard():
    # letters:  a  b  c  d  e
    said = [2, 3, 3, 7, 9]
    assert token_places(said, [2, 3, 5], 12) == [3, 4, 9]  # one piece a token: the second waits
    assert token_places(said, [2, 5, 5], 10) == [3, 8, 9]  # a full stop has no letter; room is left
    assert token_places([0], [0, 0, 1], 3) == [0, 1, 2]  # an opening mark comes before any letter


@pytest.mark.parametrize("heard", [True, False])
def test_pieces_are_learnt_at_their_own_time(task, monkeypatch, heard):
    encoded = torch.randn(1, 6, 32)
    letters = torch.full((1, 24, 28), -9.0)
    letters[:, :, 0] = -0.1
    for slot, letter in ((2, 1), (19, 2)):  # "a" in token 0, "b" in token 4
        letters[0, slot, letter] = 0.0
    batch = {"text_tokens": [torch.tensor([30, 31])], "ends": [[1, 2]], "lengths": torch.tensor([48]),
             "letters": [torch.tensor([1, 2])]}

    def pieces(encoded, candidates):
        scores = torch.full((1, 6, len(candidates)), -5.0)
        scores[..., 0] = 0.0
        for token, piece in ((0, 30), (4 if heard else 3, 31)):
            scores[0, token, 0] = -5.0
            scores[0, token, (candidates == piece).nonzero().item()] = 0.0
        return scores
    monkeypatch.setattr(task, "text_tokens", pieces)
    assert (float(task.token_loss(encoded, letters, batch)) == 0) == heard


def test_both_heads_and_the_encoder_learn(task, monkeypatch):
    monkeypatch.setattr("training.objectives.audio.TOKENS_FROM", 1000.0)  # pieces count at once
    batch = {
        "mel": torch.randn(2, 128, 160),
        "lengths": torch.tensor([160, 90]),
        "letters": [torch.tensor([1, 2, 3]), torch.tensor([4])],
        "text_tokens": [torch.tensor([30, 31]), torch.tensor([40])],
        "ends": [[2, 3], [1]],
    }
    loss = task(batch)
    loss.total.backward()
    assert loss.weight == 4
    for part in (task.audio, task.projector):
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in part.parameters())
    assert not task.words.requires_grad


@pytest.mark.parametrize("later, share", [(-1.0, 0.0), (0.4, 0.4), (3.0, 1.0)])
def test_text_tokens_count_the_more_the_better_letters_are_heard(task, monkeypatch, later, share):
    torch.manual_seed(0)
    letters = [torch.tensor([1, 2, 3]), torch.tensor([4])] * 2
    batch = {
        "mel": torch.randn(4, 128, 160), "lengths": torch.tensor([160, 90] * 2), "letters": letters,
        "text_tokens": [torch.tensor([30, 31]), torch.tensor([40])] * 2, "ends": [[2, 3], [1]] * 2,
    }  # fmt: skip
    heard = float(task(batch).logs["ctc"]) / 8  # nats a letter
    monkeypatch.setattr("training.objectives.audio.TOKENS_FROM", heard + later)
    loss = task(batch)
    logs = {name: float(value) for name, value in loss.logs.items()}
    assert logs["consistency"] > 0.01 and loss.weight == 8
    wanted = logs["ctc"] + CONSISTENCY_WEIGHT * logs["consistency"]
    wanted += TOKEN_WEIGHT * share * logs["text_tokens"]
    assert loss.total.item() == pytest.approx(wanted, rel=0, abs=4e-4)


@pytest.mark.parametrize("real, missing", [(None, None), ("real", "kokoro")])
def test_what_is_missing_is_told_before_a_clip_is_made(tmp_path, monkeypatch, real, missing):
    def try_engines(voices):
        if voices == missing:
            raise UserError(f"no {voices}")

    monkeypatch.setattr("training.objectives.audio.try_engines", try_engines)
    monkeypatch.setattr("training.objectives.audio.build_hearing", lambda *_, **__: pytest.fail("made"))
    data = {"recorded": True, "source": "engines", "clips": {"hibari": 2, "kokoro": 1}, "held_out": 2}
    paths = Paths.of("tiny", tmp_path, tmp_path, tmp_path / real if real else None)
    with pytest.raises(UserError, match="no kokoro" if real else "give --real_dir"):
        prepare({"data": data, "workers": 1}, paths)
