"""One engine, consumers in C, C++ and Python: the same bytes in each, and they are those that Pillow computes."""

import json

import numpy as np
import pytest
from engines import LANGUAGES, PATIENCE, describe, example, groups
from pictures import expected_hash, resize_bicubic, resize_short_and_crop, row

TRANSFORMS = {
    "bilinear and crop, NHWC": (
        {"transform": [{"resize": 48}, {"center_crop": 40}], "layout": "NHWC"}, resize_short_and_crop(48, 40)),
    "bicubic, NCHW": (
        {"transform": [{"resize": {"size": [33, 46], "interpolation": "bicubic"}}], "layout": "NCHW"}, resize_bicubic(33, 46)),
}


def tickets_and_hashes(consumer):
    """What an example has printed with --hash, sorted by ticket."""
    code, out, err = consumer.end()
    assert (code, err) == (0, ""), err
    *lines, summary = out.splitlines()
    assert f"{len(lines)} batches" in summary
    return sorted((int(ticket), hash_) for ticket, hash_ in (line.split() for line in lines))


def epoch_in_hand(loader):
    """The batches of one epoch under a watchdog."""
    while (batch := loader.acquire(timeout=PATIENCE)) is not None:
        with batch:
            yield batch


def computed(batch, folder, transform, layout):
    """The hash of a batch, from its index column and the files alone; its pixels are compared on the way."""
    indexes = batch["index"].tolist()
    samples = [folder.samples[i] for i in indexes]
    images = np.stack([row(sample, transform) for sample in samples])
    if layout == "NCHW":
        images = images.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(batch["image"], images)
    return expected_hash(samples, images, indexes)


@pytest.mark.parametrize("which", TRANSFORMS)
def test_three_languages_see_the_same_bytes_and_they_are_pillows(serve, attach, pictures, which):
    """Three declared groups read two shuffled epochs of one engine at once; a fourth one, in this process, checks them.

    Every hash is computed from the files with Pillow; from the engine comes nothing but the order, and that is checked to be
    a permutation, a new one in each epoch.
    """
    image, transform = TRANSFORMS[which]
    engine = serve(describe(pictures.path, order={"shuffle": True, "seed": 7, "epochs": 2}, image=image,
                            ring=groups(*LANGUAGES, "check")))
    checker, orders = attach(engine.name, "check", max_leases=1), []
    for epoch in range(2):
        consumers = {language: example(language, engine.name, language, "--hash") for language in LANGUAGES}
        expected, order = [], []
        for batch in epoch_in_hand(checker):
            assert batch.epoch == epoch
            expected.append((batch.ticket, computed(batch, pictures, transform, image["layout"])))
            order += batch["index"].tolist()
        assert sorted(order) == list(range(len(pictures.samples)))
        orders.append(order)
        for language, consumer in consumers.items():
            assert tickets_and_hashes(consumer) == sorted(expected), language
    assert orders[0] != orders[1]
    assert checker.acquire(timeout=PATIENCE) is None, "END_DATA after the last epoch"


@pytest.mark.parametrize("language", LANGUAGES)
def test_after_the_last_epoch_every_consumer_ends_at_once(serve, pictures, language):
    """END_DATA: a consumer that comes when all is over reads nothing, and that is no failure."""
    engine = serve(describe(pictures.path, ring=groups("g")))
    first = tickets_and_hashes(example(language, engine.name, "g", "--hash"))
    assert [ticket for ticket, _ in first] == list(range(14))
    assert tickets_and_hashes(example(language, engine.name, "g", "--hash")) == []


def test_an_engine_of_their_own_gives_all_languages_what_a_service_gives(serve, pictures, tmp_path):
    """spdl_open in each language: a child engine per consumer, with random crops and flips drawn from seed, epoch and sample
    alone. Bytes equal those of a service with another number of threads."""
    description = describe(pictures.path, batch=5, order={"seed": 11, "epochs": 1}, image={
        "transform": [{"random_resized_crop": 24}, {"horizontal_flip": 0.5}, {"normalize": "imagenet"}], "layout": "NCHW"})
    file = tmp_path / "spec.yaml"
    file.write_text(json.dumps(description))
    engine = serve(description, "--cpus", "1")
    served = tickets_and_hashes(example("c", engine.name, "--hash"))
    assert len(served) == 11 and len({hash_ for _, hash_ in served}) == 11
    for language in LANGUAGES:
        for way in (str(file), json.dumps(description)):
            assert tickets_and_hashes(example(language, way, "--hash")) == served, (language, way)


@pytest.mark.parametrize("language", LANGUAGES)
def test_normalised_floats_are_pillows_within_an_ulp(open_, pictures, language):
    """The mean that each language prints over all float elements equals that of numpy over Pillow's pixels."""
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    description = describe(pictures.path, batch=53, image={
        "transform": [{"resize": 48}, {"center_crop": 40}, {"normalize": "imagenet"}], "layout": "NCHW"})
    pixels = np.stack([row(sample, resize_short_and_crop(48, 40)) for sample in pictures.samples]).astype(np.float32)
    want = ((pixels / np.float32(255) - mean) / std).transpose(0, 3, 1, 2)
    if language == "python":
        with open_(description) as loader:
            for batch in loader:
                np.testing.assert_allclose(batch["image"], want, rtol=1e-6, atol=1e-6)
    code, out, err = example(language, json.dumps(description)).end()
    assert code == 0, err
    assert float(out.split("mean of image ")[1].split(";")[0]) == pytest.approx(want.astype(np.float64).mean(), abs=6e-5)
