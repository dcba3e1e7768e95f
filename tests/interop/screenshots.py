"""Takes a picture of each page of TensorBoard: screenshots.py LOGS OUT [--browser PROGRAM]. For the documentation."""
import argparse
import pathlib
import shutil
import subprocess

from board import serve

PAGES = {
    "scalars": "scalars&tagFilter=epoch",
    "histograms": "histograms",
    "images": "images",
    "graph": "graphs&run=train",
    "text": "text",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("chromium-headless-shell"))
    arguments = parser.parse_args()
    if not arguments.browser:
        parser.error("no Chromium found: install the package chromium, or name a browser")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with serve(arguments.logs) as board:
        board.wait_for_runs(["train"])
        for name, page in PAGES.items():
            picture = arguments.out / f"tensorboard_{name}.png"
            subprocess.run([arguments.browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            "--virtual-time-budget=20000", "--window-size=1280,800", f"--screenshot={picture.absolute()}",
                            f"{board.url}#{page}"], check=True, timeout=120, stderr=subprocess.DEVNULL)
            print(picture, picture.stat().st_size)


if __name__ == "__main__":
    main()
