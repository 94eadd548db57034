"""Animations: every frame comes back as it was drawn."""

import os
import re
import stat
import sys

import numpy as np
import pytest
from PIL import Image

from hotloop.report import save_animation, to_text

RED, BLUE, DARK = (255, 0, 0), (0, 0, 255), (20, 24, 30)


def walking_dot(count=12, height=4, width=5):
    """A red dot that visits one square after another on a dark board."""
    frames = np.full((count, height, width, 3), DARK, dtype=np.uint8)
    for number in range(count):
        frames[number, number // width, number % width] = RED
    return list(frames)


def frames_of(path):
    with Image.open(path) as picture:
        for number in range(picture.n_frames):
            picture.seek(number)
            yield np.asarray(picture.convert("RGB"))


def test_a_gif_holds_every_frame_exactly_and_enlarged_in_whole_pixels(tmp_path):
    frames = walking_dot()
    save_animation(frames, tmp_path / "game.gif", fps=10)
    found = list(frames_of(tmp_path / "game.gif"))
    assert len(found) == len(frames)
    for frame, enlarged in zip(frames, found):
        np.testing.assert_array_equal(enlarged, frame.repeat(64, axis=0).repeat(64, axis=1))
    with Image.open(tmp_path / "game.gif") as picture:
        assert picture.info["duration"] == 100
        assert picture.info["loop"] == 0  # for ever


def test_large_frames_stay_as_they_are(tmp_path):
    save_animation([np.zeros((240, 500, 3), np.uint8), np.ones((240, 500, 3), np.uint8)], tmp_path / "game.gif", fps=1000)
    with Image.open(tmp_path / "game.gif") as picture:
        assert picture.size == (500, 240)
        assert picture.info["duration"] == 20  # the fastest that browsers honour


def test_frames_of_many_colours_come_close(tmp_path):
    ramp = np.stack(np.broadcast_arrays(np.arange(40)[:, None] * 6, np.arange(40) * 6, 128), axis=2).astype(np.uint8)
    save_animation([ramp, ramp[::-1]], tmp_path / "game.gif", fps=10)
    for frame, enlarged in zip([ramp, ramp[::-1]], frames_of(tmp_path / "game.gif")):
        assert np.abs(enlarged[::8, ::8].astype(int) - frame).mean() < 8


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a Unix script")
@pytest.mark.parametrize(("program", "error"), [("cat > recorded", None), ("echo 'no such codec' >&2; exit 3", "found: no such codec")])
def test_an_mp4_is_ffmpegs_work_and_its_complaint_is_passed_on(tmp_path, monkeypatch, program, error):
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "ffmpeg"
    script.write_text(f'#!/bin/sh\necho "$@" > arguments\nfor last; do :; done\n: > "$last"\n{program}\n')
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    frames = walking_dot()
    if error:
        with pytest.raises(ValueError, match=error):
            save_animation(frames, tmp_path / "game.mp4", fps=12)
        assert not (tmp_path / "game.mp4").exists()
        return
    save_animation(frames, tmp_path / "game.mp4", fps=12)
    assert (tmp_path / "recorded").read_bytes() == np.stack(frames).tobytes()
    assert re.search(r"-pix_fmt rgb24 -s 5x4 -r 12 .*scale=iw\*64:ih\*64:flags=neighbor", (tmp_path / "arguments").read_text())
    assert (tmp_path / "game.mp4").exists()


def test_without_ffmpeg_there_is_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ValueError, match=r"expected the program ffmpeg .* found none; try a name ending in \.gif"):
        save_animation(walking_dot(), tmp_path / "game.mp4", fps=12)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("frames", "name", "fps", "message"),
    [
        ([], "game.gif", 10, "found none"),
        (walking_dot(), "game.avi", 10, r"end in \.gif or \.mp4, found 'game\.avi'; try game\.gif"),
        (walking_dot(), "game.gif", 0, "above 0, found 0"),
        ([np.zeros((4, 4), np.uint8)], "game.gif", 10, r"found \[4, 4\] of uint8 in frame 0"),
        ([np.zeros((4, 4, 3), np.float64)], "game.gif", 10, "found .* of float64"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)], "game.gif", 10, r"one size, \[4, 4, 3\], found \[4, 5, 3\] in frame 1"),
    ],
)
def test_what_cannot_be_animated_is_refused_in_one_line(tmp_path, frames, name, fps, message):
    with pytest.raises(ValueError, match=message):
        save_animation(frames, tmp_path / name, fps)
    assert list(tmp_path.iterdir()) == []


def test_text_has_two_pixels_a_character_and_names_a_colour_only_where_it_changes():
    frame = np.array([[RED, RED, BLUE], [DARK, DARK, DARK], [BLUE, BLUE, BLUE]], dtype=np.uint8)
    red, blue, on_dark, on_nothing = "\x1b[38;2;255;0;0m", "\x1b[38;2;0;0;255m", "\x1b[48;2;20;24;30m", "\x1b[49m"
    assert to_text(frame) == f"{red}{on_dark}▀▀{blue}{on_dark}▀\x1b[0m\n{blue}{on_nothing}▀▀▀\x1b[0m"
