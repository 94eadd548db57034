"""Animation: frames of a game as a GIF, an MP4, or coloured text for a terminal."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from hotloop.records.files import cannot_write

Frame = npt.NDArray[np.uint8]  # [height, width, 3] RGB

SIZE = 320  # pixels that small frames are enlarged to
FASTEST_GIF = 50  # frames a second; browsers slow down what claims to be faster


def save_animation(frames: Sequence[Frame], path: Path, fps: float) -> None:
    """Write the frames to a .gif or .mp4 file; small ones are enlarged in whole pixels, so that squares stay square."""
    _check(frames, fps)
    save = {".gif": _save_gif, ".mp4": _save_mp4}.get(path.suffix.lower())
    if save is None:
        raise ValueError(f"expected an animation's name to end in .gif or .mp4, found {path.name!r}; try {path.with_suffix('.gif').name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".animation-") as folder:
            beside = Path(folder) / path.name  # takes its name when whole: an animation from before is not damaged
            save(frames, beside, fps)
            beside.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error


def to_text(frame: Frame) -> str:
    """The frame in half blocks, two pixels above each other a character, with 24-bit ANSI colours."""
    height, width, _ = frame.shape
    lines = []
    for row in range(0, height, 2):
        below = frame[row + 1] if row + 1 < height else None
        lines.append(_text_row(frame[row], below, width))
    return "\n".join(lines)


def _text_row(above: Frame, below: Frame | None, width: int) -> str:
    """Colours are named only where they change, which keeps a game's frame to a few kilobytes."""
    text, colours = [], ""
    for column in range(width):
        wanted = "\x1b[38;2;{};{};{}m".format(*above[column])
        wanted += "\x1b[49m" if below is None else "\x1b[48;2;{};{};{}m".format(*below[column])
        if wanted != colours:
            text.append(wanted)
            colours = wanted
        text.append("▀")
    return "".join(text) + "\x1b[0m"


def _save_gif(frames: Sequence[Frame], path: Path, fps: float) -> None:
    milliseconds = max(1000 / FASTEST_GIF, round(100 / fps) * 10)  # GIF counts in hundredths of a second
    height, width, _ = frames[0].shape
    size = (width * _enlargement(frames), height * _enlargement(frames))
    images = (image.resize(size, Image.Resampling.NEAREST) for image in _in_shared_palette(frames))  # one at a time: a long game is large
    next(images).save(path, save_all=True, append_images=images, duration=milliseconds, loop=0, optimize=True)


def _in_shared_palette(frames: Sequence[Frame]) -> Iterator[Image.Image]:
    """All frames in one palette: exact where a game draws with few colours, the nearest 256 otherwise."""
    colours = np.unique(np.concatenate([np.unique(_packed(frame)) for frame in frames]))
    if len(colours) > 256:
        sample = np.concatenate(frames[:: -(-len(frames) // 16)])  # at most 16 frames are enough to choose colours from
        palette = Image.fromarray(sample).quantize(256)
        for frame in frames:
            yield Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
        return
    channels = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)
    for frame in frames:
        image = Image.fromarray(np.searchsorted(colours, _packed(frame)).astype(np.uint8))
        image.putpalette(channels.tobytes())
        yield image


def _packed(frame: Frame) -> npt.NDArray[np.int32]:
    """A pixel's colour as one number."""
    wide = frame.astype(np.int32)
    packed: npt.NDArray[np.int32] = wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]
    return packed


def _save_mp4(frames: Sequence[Frame], path: Path, fps: float) -> None:
    height, width, _ = frames[0].shape
    times = _enlargement(frames)
    picture = f"scale=iw*{times}:ih*{times}:flags=neighbor,pad=ceil(iw/2)*2:ceil(ih/2)*2"  # the usual colour format wants even sides
    command = [_ffmpeg(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps}", "-i", "-"]
    command += ["-an", "-vf", picture, "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    with tempfile.TemporaryFile() as messages:  # a pipe could fill up while we are still sending frames
        encoder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=messages)
        _send(frames, encoder)
        messages.seek(0)
        said = messages.read().decode(errors="replace").strip()
    if encoder.returncode:
        raise ValueError(f"expected ffmpeg to write {path.name}, found: {said or 'it failed without a word'}; try a name ending in .gif")


def _ffmpeg() -> str:
    """The ffmpeg on PATH, or else the one that the extra `video` brings."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ValueError("expected the program ffmpeg to write MP4, found none; try a name ending in .gif, or: pip install 'hotloop[video]'") from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def _send(frames: Sequence[Frame], encoder: subprocess.Popen[bytes]) -> None:
    assert encoder.stdin is not None
    try:
        for frame in frames:
            encoder.stdin.write(frame.tobytes())
        encoder.stdin.close()
    except BrokenPipeError:
        pass  # it gave up early, and says why in its messages
    except BaseException:  # Ctrl-C: leave no encoder behind
        encoder.kill()
        raise
    finally:
        encoder.wait()


def _enlargement(frames: Sequence[Frame]) -> int:
    """How many times larger, so that the longer side is near SIZE pixels; frames that are large already stay."""
    height, width, _ = frames[0].shape
    return max(1, round(SIZE / int(max(height, width))))


def _check(frames: Sequence[Frame], fps: float) -> None:
    if len(frames) == 0:
        raise ValueError("expected frames to animate, found none; try a game of at least one step")
    if not fps > 0:
        raise ValueError(f"expected frames per second above 0, found {fps}; try 10")
    for number, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"expected RGB frames [height, width, 3] of uint8, found {list(frame.shape)} of {frame.dtype} in frame {number}")
        if frame.shape != frames[0].shape:
            raise ValueError(f"expected frames of one size, {list(frames[0].shape)}, found {list(frame.shape)} in frame {number}")
