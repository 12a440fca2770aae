// The page: draws its charts as they come into view, and gives each its buttons and its legend.
"use strict";
(() => {
  const { canZoom, element, heightOf, lookOf, optionOf, themes, unique } = charts;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const theme = () => themes[prefersDark.matches && !printing ? "dark" : "light"];

  // ---- a chart on the page ----
  const swatch = (look) => {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    const line = document.createElementNS(space, "line");
    for (const [name, value] of Object.entries({ width: 28, height: 10, "aria-hidden": "true" })) picture.setAttribute(name, value);
    const pattern = { solid: "", dashed: "7 4", dotted: "2 3" }[look.dash] ?? "9 3 2 3";
    const drawn = { x1: 1, x2: 27, y1: 5, y2: 5, stroke: look.color, "stroke-width": 3, "stroke-dasharray": pattern };
    for (const [name, value] of Object.entries(drawn)) line.setAttribute(name, value);
    picture.append(line);
    return picture;
  };

  const foldedAway = (summary, content) => element("details", {}, element("summary", {}, summary), content);

  class Drawn {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      this.chart = JSON.parse(figure.querySelector("script").textContent);
      this.state = { hidden: new Set(), eachRun: false, logarithmic: this.chart.kind === "curves" && this.chart.y.logarithmic };
      this.addTools();
      if (this.chart.kind === "curves") this.addLegend();
      this.reserve();
    }

    // The room it will take, so that the page does not jump.
    reserve() { this.plot.style.height = `${heightOf(this.chart, this.plot.clientWidth)}px`; }

    draw(width) {
      this.reserve();
      this.drawing ??= echarts.init(this.plot, null, { renderer: "svg" });
      this.drawing.resize({ width: width ?? "auto" });
      const option = optionOf(this.chart, { ...this.state, isPrinted: printing }, theme(), width ?? this.plot.clientWidth);
      this.drawing.setOption(option, { replaceMerge: ["series"] });
      if (this.legend) this.paintLegend();
    }

    addTools() {
      const tools = this.figure.querySelector(".tools");
      const button = (text, action) => {
        const made = element("button", { type: "button" }, text, element("span", { class: "unseen" }, `: ${this.chart.title}`));
        made.addEventListener("click", () => action(made));
        tools.append(made);
        return made;
      };
      if (this.chart.kind === "curves") {
        const areAbove0 = (values) => values.every((y) => y === null || y > 0);
        const canBeLogarithmic = this.chart.curves.every(({ points, intervals }) =>
          areAbove0(points.map(([, y]) => y)) && areAbove0((intervals ?? []).map(([, low]) => low)));
        if (canBeLogarithmic)
          button("Log scale", (self) => {
            this.state.logarithmic = !this.state.logarithmic;
            self.setAttribute("aria-pressed", this.state.logarithmic);
            this.draw();
          }).setAttribute("aria-pressed", this.state.logarithmic);
        if (this.chart.bands)
          button("Each run", (self) => {
            this.state.eachRun = !this.state.eachRun;
            self.setAttribute("aria-pressed", this.state.eachRun);
            this.draw();
          }).setAttribute("aria-pressed", false);
        if (canZoom(this.chart)) {
          button("Zoom in", () => this.zoom(0.5));
          button("Zoom out", () => this.zoom(2));
        }
      }
      const save = (ending, address) => element("a", { href: address, download: `${this.figure.id}.${ending}` }).click();
      button("Save SVG", () => save("svg", this.drawing.getDataURL()));
      button("Save PNG", () => save("png", this.png()));
    }

    // The page draws SVG, so a PNG is drawn again, on a canvas with twice the pixels.
    png() {
      const [width, height] = [this.drawing.getWidth(), this.drawing.getHeight()];
      const canvas = echarts.init(document.createElement("div"), null, { renderer: "canvas", width, height });
      canvas.setOption(this.drawing.getOption());
      const address = canvas.getDataURL({ pixelRatio: 2, backgroundColor: theme().ground });
      canvas.dispose();
      return address;
    }

    // About the middle of what is shown.
    zoom(factor) {
      const { start, end } = this.drawing.getOption().dataZoom[0];
      const half = Math.min(50, Math.max(1, ((end - start) * factor) / 2));
      const middle = Math.min(100 - half, Math.max(half, (start + end) / 2));
      this.drawing.dispatchAction({ type: "dataZoom", start: middle - half, end: middle + half });
    }

    addLegend() {
      this.groups = unique(this.chart.curves.map((curve) => curve.group));
      this.legend = element("fieldset", { class: "legend" }, element("legend", { class: "unseen" }, `Curves of ${this.chart.title}`));
      this.boxes = this.groups.map((group) => {
        const box = element("input", { type: "checkbox" });
        box.checked = true;
        box.addEventListener("change", () => this.show([group], box.checked));
        const label = element("label", {}, box, element("span", { class: "swatch" }), element("span", {}, group));
        label.addEventListener("mouseenter", () => this.highlight("highlight", group));
        label.addEventListener("mouseleave", () => this.highlight("downplay", group));
        this.legend.append(label);
        return box;
      });
      if (this.groups.length > 3) this.addAllAndNone();
      this.plot.after(this.groups.length > 24 ? foldedAway(`Choose among ${this.groups.length} curves`, this.legend) : this.legend);
    }

    addAllAndNone() {
      for (const [text, isShown] of [["No curves", false], ["All curves", true]]) {
        const made = element("button", { type: "button" }, text);
        made.addEventListener("click", () => this.show(this.groups, isShown));
        this.legend.prepend(made);
      }
    }

    show(groups, isShown) {
      for (const group of groups) {
        if (isShown) this.state.hidden.delete(group);
        else this.state.hidden.add(group);
        this.boxes[this.groups.indexOf(group)].checked = isShown;
      }
      this.draw();
    }

    highlight(type, group) {
      const isOfGroup = (name) => this.chart.curves.some((curve) => curve.group === group && curve.name === name);
      const names = (this.drawing?.getOption().series ?? []).map((series) => series.id);
      this.drawing?.dispatchAction({ type, seriesId: names.filter((name) => isOfGroup(name) || name.startsWith(`${group} (median of`)) });
    }

    paintLegend() {
      const colors = theme();
      this.legend.querySelectorAll(".swatch").forEach((place, index) =>
        place.replaceChildren(swatch(lookOf(this.chart.curves.find((curve) => curve.group === this.groups[index]).style, colors))));
    }
  }

  // ---- large tables ----
  const fieldsOf = (csv) => {
    const rows = [[]];
    for (const [, field, end] of csv.matchAll(/("(?:[^"]|"")*"|[^,\n]*)(,|\n|$)/g)) {
      rows.at(-1).push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);
      if (end === "\n") rows.push([]);
      if (end === "") break;
    }
    return rows.filter((row) => row.length > 1 || row[0] !== "");
  };

  const fillTable = (details) => {
    const place = details.querySelector(":scope > .scroll");
    if (!place || place.firstElementChild) return;
    const encoded = details.parentElement.querySelector("a.csv").href.split(",")[1];
    const bytes = Uint8Array.from(atob(decodeURIComponent(encoded)), (letter) => letter.charCodeAt(0));
    const [headings, ...rows] = fieldsOf(new TextDecoder().decode(bytes));
    const isNumber = (text) => text !== "" && Number.isFinite(Number(text));
    const few = (text) => (isNumber(text) ? String(Number(Number(text).toPrecision(6))) : text);
    const look = (text) => (isNumber(text) ? { class: "n" } : {});
    const cell = (text, index) => (index === 0 ? element("th", { scope: "row", ...look(text) }, few(text))
      : element("td", look(text), few(text)));
    place.append(element("table", {},
      element("caption", {}, details.closest("figure").querySelector("h4").textContent),
      element("thead", {}, element("tr", {}, ...headings.map((heading, index) => element("th", { scope: "col", ...look(rows[0][index]) }, heading)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell))))));
  };

  // ---- boxes that scroll ----
  // A line above such a box says where more of it is.
  const hintFor = (box) => {
    const isWide = box.scrollWidth > box.clientWidth + 1;
    const isTall = box.scrollHeight > box.clientHeight + 1;
    if (isWide && isTall) return "Scroll for more columns → and rows ↓";
    if (isWide) return "Scroll for more columns →";
    return isTall ? "Scroll for more rows ↓" : "";
  };
  const watchScrolling = (box) => {
    const hint = element("p", { class: "hint", hidden: "" });
    box.before(hint);
    const update = () => {
      const text = hintFor(box);
      if (hint.textContent === text) return;
      hint.textContent = text;
      hint.hidden = text === "";
    };
    const sizes = new ResizeObserver(() => requestAnimationFrame(update));
    sizes.observe(box);
    for (const child of box.children) sizes.observe(child);
    update();
  };

  // ---- the page ----
  const all = [...document.querySelectorAll("figure.chart")].map((figure) => new Drawn(figure));
  const byPlot = new Map(all.map((drawn) => [drawn.plot, drawn]));
  const redraw = () => all.forEach((drawn) => drawn.drawing && drawn.draw());

  // What nobody scrolls to is not drawn.
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      byPlot.get(entry.target).draw();
    }
  }, { rootMargin: "600px" });
  all.forEach((drawn) => seen.observe(drawn.plot));
  document.querySelectorAll(".scroll").forEach(watchScrolling);

  let lastWidth = document.body.clientWidth;
  addEventListener("resize", () => {
    if (printing || document.body.clientWidth === lastWidth) return;
    lastWidth = document.body.clientWidth;
    redraw();
  });
  prefersDark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    const pageWidth = 680;  // of A4 and Letter between their margins, in pixels
    printing = true;
    all.forEach((drawn) => drawn.draw(pageWidth));
  });
  addEventListener("afterprint", () => {
    printing = false;
    redraw();
  });
  document.addEventListener("toggle", (event) => fillTable(event.target), true);
})();
