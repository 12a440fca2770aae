#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `rnnlab report` in headless Chromium at the widths of a phone, a small and a large window, and prints a
line for everything that is cut off or hidden there. Exit code: 0 if there is nothing, 1 if there is something, 77 with the
reason if there is no Chromium. RNNLAB_CHROMIUM names a program to use.

With --evaluate it prints the JSON of this expression's value in each page instead, after the charts are drawn.

usage: check_pages.py [--evaluate EXPRESSION] [--pictures FOLDER] [--widths 400,1000,1400] [--dark] PAGE.html...
"""
import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
PATIENCE = 60  # seconds for one answer of the browser

# Charts are drawn when they come into view.
DRAW_ALL = """(async () => {
  for (const plot of document.querySelectorAll(".plot")) {
    plot.scrollIntoView();
    for (let i = 0; i < 200 && !plot.querySelector("svg"); i += 1) await new Promise((done) => setTimeout(done, 10));
  }
  await new Promise((done) => setTimeout(done, 150));
  scrollTo(0, 0);
})()"""

OPEN_ALL = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"

FIND = r"""(() => {
  const found = [];
  const nameOf = (element) => {
    const place = element.closest("[id]");
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
    return `${element.tagName.toLowerCase()}${element.className && element.className.baseVal === undefined ? "." + element.className : ""}` +
      `${place ? " in #" + place.id : ""} '${text}'`;
  };
  // The heads of tables in narrow windows are for screen readers only, like the class "unseen".
  const isForReaders = (element) => element !== null && (getComputedStyle(element).clipPath === "inset(50%)" || isForReaders(element.parentElement));
  const isSeen = (element) => element.checkVisibility() && !element.closest(".skip, script, style") && !isForReaders(element);
  const hasHint = (box) => {
    const hint = box.previousElementSibling;
    return Boolean(hint) && hint.classList.contains("hint") && hint.checkVisibility() && hint.textContent !== "";
  };
  const scrollsWith = (element) => {
    for (let box = element.parentElement; box; box = box.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return box;
    return null;
  };

  if (document.scrollingElement.scrollWidth > innerWidth) found.push(`the page is ${document.scrollingElement.scrollWidth} px wide`);
  for (const element of document.body.querySelectorAll("*")) {
    if (!isSeen(element) || element.closest("svg")) continue;
    const { left, right, width } = element.getBoundingClientRect();
    if (width > 0 && (left < -1 || right > innerWidth + 1) && !scrollsWith(element))
      found.push(`beyond the window: ${nameOf(element)}`);
    const { overflowX, overflowY } = getComputedStyle(element);
    const isWide = overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
    const isTall = overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1;
    const isInline = getComputedStyle(element).display === "inline";
    if ((isWide || isTall) && !isInline && !hasHint(element)) found.push(`hides a part without a hint: ${nameOf(element)}`);
  }

  const packed = (text) => text.replace(/\s+/g, "");
  for (const figure of document.querySelectorAll("figure.chart")) {
    const svg = figure.querySelector(".plot svg");
    if (!svg) {
      found.push(`not drawn: #${figure.id}`);
      continue;
    }
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
    for (const { text, box } of texts) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.push(`text is cut off: '${text}' in #${figure.id}`);
      if (/…|\.\.\.$/.test(text)) found.push(`text is shortened: '${text}' in #${figure.id}`);
    }
    texts.forEach((one, index) => texts.slice(index + 1).forEach((other) => {
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (across > 2 && down > 4) found.push(`texts lie over each other: '${one.text}' and '${other.text}' in #${figure.id}`);
    }));
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const all = packed(texts.map(({ text }) => text).join(""));
    const labels = [...(chart.bars ?? chart.steps ?? []).map((item) => item.label), ...(chart.rows ?? [])];
    for (const label of labels) if (!all.includes(packed(label))) found.push(`label is missing: '${label}' in #${figure.id}`);
    const groups = [...new Set((chart.curves ?? []).map((curve) => curve.group))];
    for (const group of groups)
      if (!packed(figure.querySelector(".legend").textContent).includes(packed(group))) found.push(`legend lacks '${group}' in #${figure.id}`);
  }
  return found;
})()"""


class Browser:
    """Headless Chromium that obeys the DevTools protocol over a pair of pipes."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        ends = [os.dup(end) for end in (to_browser, from_browser)]  # numbers that are not 3 or 4

        def place_pipes():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        flags = ["--headless=new", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=place_pipes, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.received = b""
        self.number = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def message(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.input], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.input, 1 << 16) if ready else b""
            if not piece:
                self.errors.seek(0)
                raise SystemExit("the browser does not answer: " + self.errors.read().decode(errors="replace")[-500:])
            self.received += piece
        text, self.received = self.received.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.output, text):]
        return self.number

    def call(self, method, **parameters):
        number = self.send(method, parameters)
        while True:
            message = self.message()
            if message.get("id") != number:
                continue
            if "error" in message:
                raise SystemExit(f"{method}: {message['error']['message']}")
            return message["result"]

    def open(self, page, width, theme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        number = self.send("Page.navigate", {"url": page.resolve().as_uri()})
        is_loaded = False
        is_answered = False
        while not (is_loaded and is_answered):
            message = self.message()
            is_loaded = is_loaded or message.get("method") == "Page.loadEventFired"
            is_answered = is_answered or message.get("id") == number

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit("the check fails in the page: " + json.dumps(result["exceptionDetails"])[:1000])
        return result["result"].get("value")

    def picture(self, file, width):
        height = self.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 16000), "scale": 1}
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(image["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()


def program():
    names = [os.environ["RNNLAB_CHROMIUM"]] if os.environ.get("RNNLAB_CHROMIUM") else PROGRAMS
    found = [path for path in map(shutil.which, names) if path]
    if not found:
        print(f"there is no Chromium here ({', '.join(names)}; Debian: apt-get install chromium)", file=sys.stderr)
        sys.exit(SKIPPED)
    return found[0]


def findings(browser, page, width, options):
    browser.open(page, width, "dark" if options.dark else "light")
    browser.evaluate(DRAW_ALL)
    found = browser.evaluate(FIND)
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
        theme = "-dark" if options.dark else ""
        browser.picture(options.pictures / f"{page.stem}-{width}{theme}.png", width)
    browser.evaluate(OPEN_ALL)
    browser.evaluate(DRAW_ALL)
    found += [f"{what} (unfolded)" for what in browser.evaluate(FIND) if what not in found]
    return [f"{page.name} at {width} px: {what}" for what in found]


def values(browser, pages, expression):
    for page in pages:
        browser.open(page, 1400, "light")
        browser.evaluate(DRAW_ALL)
        yield json.dumps(browser.evaluate(expression), ensure_ascii=False, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--evaluate")
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--widths", default="400,1000,1400")
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    browser = Browser(program())
    try:
        if options.evaluate:
            print("\n".join(values(browser, options.pages, options.evaluate)))
            return 0
        found = [line for page in options.pages for width in map(int, options.widths.split(","))
                 for line in findings(browser, page, width, options)]
    finally:
        browser.close()
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
