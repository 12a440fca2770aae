// What each chart of the page looks like: from its JSON to options of ECharts. Texts in that JSON come from files: they
// reach the page as text nodes and as labels only, never as HTML.
"use strict";
const charts = (() => {
  // Colours that colour-blind readers can distinguish (after Okabe and Ito, 2008); the light ones have a contrast of at
  // least 3 to 1 against white.
  const themes = {
    light: {
      ink: "#1a1d21", quiet: "#525a64", line: "#d3d8de", ground: "#ffffff", gain: "#007a5e", loss: "#b3261e",
      palette: ["#0072b2", "#c94f00", "#007a5e", "#a8447f", "#7d6608", "#4f46b8", "#555d66", "#b3261e"],
      ramp: ["#f4f1e4", "#9fcdb6", "#3c9ab2", "#1d5c8a", "#14304f"],
    },
    dark: {
      ink: "#e8ebef", quiet: "#a9b3bf", line: "#38414c", ground: "#1d2229", gain: "#3ecba4", loss: "#ff8a80",
      palette: ["#56b4ff", "#ff9a5c", "#3ecba4", "#f29bd3", "#e0c34f", "#b3acff", "#c3cad3", "#ff8a80"],
      ramp: ["#22303c", "#1f5673", "#2b8aa0", "#74c0a4", "#f0ecc9"],
    },
  };
  const dashes = ["solid", "dashed", "dotted", [10, 4, 2, 4]];
  const narrow = 560;  // pixels
  const manyCurves = 12;
  const manyPoints = 40;  // of a curve; only longer curves need a zoom
  const fontFamily = "system-ui, 'DejaVu Sans', sans-serif";
  const isTouch = matchMedia("(pointer: coarse)").matches;

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const labelOf = (axis) => (axis.unit ? `${axis.name} (${axis.unit})` : axis.name);
  const digitsOf = (axis) => (axis.unit ? 4 : 3);
  const shown = (value, digits) => {
    if (value === null) return "–";
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
    const text = value.toPrecision(digits);
    return text.includes("e") ? String(Number(text)) : text;
  };
  const unique = (list) => [...new Set(list)];

  // ---- texts in pixels ----
  const pen = document.createElement("canvas").getContext("2d");
  const widthOf = (text, size = 12) => {
    pen.font = `${size}px ${fontFamily}`;
    return Math.ceil(pen.measureText(text).width * 1.04);
  };
  const longestOf = (texts, size) => Math.max(0, ...texts.map((text) => widthOf(text, size)));
  const lineHeight = 16;

  // The longest beginning that fits, and preferably ends after a word, '_', '=', '/' or ','; at least one letter.
  const lineOf = (text, width, size) => {
    let end = text.length;
    while (end > 1 && widthOf(text.slice(0, end).trimEnd(), size) > width) end -= 1;
    if (end === text.length) return text;
    const atBreak = text.slice(0, end + 1).search(/[\s_=\/,][^\s_=\/,]*$/);
    return text.slice(0, atBreak > 0 ? Math.min(end, atBreak + 1) : end);
  };
  // The lines of a text that is too long for one. Nothing of it is left out.
  const linesOf = (text, width, size = 12) => {
    const lines = [];
    for (let rest = text; rest !== "" || lines.length === 0;) {
      const line = lineOf(rest, width, size);
      lines.push(line.trimEnd());
      rest = rest.slice(line.length).trimStart();
    }
    return lines;
  };

  // Lines of [name, value], as nodes.
  const tip = (title, lines) =>
    element("div", { class: "tip" }, element("strong", {}, title),
      ...lines.map(([name, value]) => element("div", {}, element("span", {}, name), element("b", {}, value))));
  const tooltip = (colors, more) => ({
    confine: true, transitionDuration: 0, backgroundColor: colors.ground, borderColor: colors.line,
    textStyle: { color: colors.ink }, ...more,
  });

  const base = (colors) => ({
    animation: false,
    textStyle: { fontFamily, color: colors.ink },
    backgroundColor: "transparent",
  });
  const axisLook = (colors) => ({
    axisLine: { lineStyle: { color: colors.quiet } },
    axisLabel: { color: colors.ink, hideOverlap: true },
    nameTextStyle: { color: colors.quiet },
    splitLine: { lineStyle: { color: colors.line } },
  });
  const tickText = (value) => String(Number(value.toPrecision(6)));
  // The positions of an axis may have labels, such as dates.
  const placeText = (axis) => (value) => (axis.labels ? axis.labels[Math.round(value)] ?? "" : tickText(value));

  // ---- curves ----
  const lookOf = (style, colors) => ({
    color: colors.palette[style % colors.palette.length],
    dash: dashes[Math.floor(style / colors.palette.length) % dashes.length],
  });

  const lineSeries = (curve, look, ground, isMarked) => ({
    type: "line", id: curve.name, name: curve.name, color: look.color,
    lineStyle: { type: look.dash, width: curve.isMedian ? 2.4 : 1.8 }, symbolSize: 5, showSymbol: isMarked,
    emphasis: { focus: "series" }, symbol: "circle",
    data: curve.points.map(([x, y, note, range]) => ({
      value: [x, y], note, range,
      ...(note ? { symbolSize: 8, itemStyle: { color: ground, borderColor: look.color, borderWidth: 2 } } : {}),
    })),
  });

  // The line in the middle of a band, as a curve.
  const medianOf = (band) => ({
    group: band.group, name: `${band.group} (median of ${band.runs} runs)`, style: band.style, isMedian: true,
    points: band.points.map(([x, middle, low, high, note]) => [x, middle, note, [low, high]]),
  });

  // A band is a row of quadrangles, one from each point to the next. Their sides are on whole pixels, so that no seam
  // shows between them.
  const bandSeries = (band, look) => ({
    type: "custom", id: `${band.group} band`, name: band.group, color: look.color, silent: true, z: 1,
    tooltip: { show: false }, encode: { x: [0, 3], y: [1, 2, 4, 5] },
    data: band.points.slice(1).map((point, index) => [...band.points[index].filter((_, i) => i === 0 || i === 2 || i === 3), point[0], point[2], point[3]])
      .filter((item) => item.every((value) => value !== null)),
    clip: true,
    renderItem: (parameters, api) => {
      const corner = (x, y) => {
        const [left, top] = api.coord([api.value(x), api.value(y)]);
        return [Math.round(left), top];
      };
      return { type: "polygon", shape: { points: [corner(0, 1), corner(0, 2), corner(3, 5), corner(3, 4)] }, style: { fill: look.color, opacity: 0.2 } };
    },
  });

  // The intervals of a curve's points, as whiskers.
  const whiskerSeries = (curve, look) => ({
    type: "custom", id: `${curve.name} intervals`, name: curve.name, color: look.color, silent: true,
    tooltip: { show: false }, encode: { x: 0, y: [1, 2] }, data: curve.intervals,
    renderItem: (parameters, api) => {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const high = api.coord([api.value(0), api.value(2)])[1];
      const line = (x1, y1, x2, y2) =>
        ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: look.color, lineWidth: 1.4 } });
      return { type: "group", children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)] };
    },
  });

  // A curve whose intervals are a band around it, as a band and as a curve that says them.
  const bandOf = (curve) => ({
    group: curve.name, style: curve.style, points: curve.intervals.map(([x, low, high]) => [x, null, low, high]),
  });
  const withRanges = (curve) => (curve.isBand
    ? { ...curve, points: curve.points.map(([x, y, note], i) => [x, y, note, curve.intervals[i].slice(1)]) }
    : curve);

  const curvesTooltip = (chart, curves, colors) => {
    const digits = 6;
    const ofLines = (items) => items.filter((item) => item.seriesType === "line");
    const range = ({ range: ends }) => (ends ? ` (${ends.map((end) => shown(end, digits)).join(" to ")})` : "");
    const line = (item) => [item.seriesName + (item.data.note ? ` (${item.data.note})` : ""), shown(item.data.value[1], digits) + range(item.data)];
    const heading = (item) => `${chart.x.name} ${placeText(chart.x)(item.data.value[0])}${chart.x.unit ? " " + chart.x.unit : ""}`;
    const areFew = curves.length <= manyCurves;
    return tooltip(colors, {
      trigger: areFew ? "axis" : "item",
      formatter: (items) => (Array.isArray(items)
        ? tip(chart.x.unit ? chart.y.name : heading(items[0]), ofLines(items).map(line))
        : tip(heading(items), [line(items)])),
    });
  };

  const canZoom = (chart) => chart.kind === "curves" && chart.curves.some((curve) => curve.points.length > manyPoints);

  // The counts that get a number and a grid line: every one, every second, every fifth, and so on.
  const countTicks = (first, last, width) => {
    const most = Math.max(2, width / 40);
    let step = 1;
    for (let power = 1; (last - first) / step > most; power *= 10)
      step = [power, 2 * power, 5 * power].find((one) => (last - first) / one <= most) ?? 10 * power;
    const ticks = [];
    for (let tick = Math.ceil(first / step) * step; tick <= last; tick += step) ticks.push(tick);
    return ticks;
  };

  const xAxisOf = (chart, colors, width) => {
    const look = { type: "value", name: labelOf(chart.x), nameLocation: "middle", nameGap: 26, ...axisLook(colors) };
    look.axisLabel = { color: colors.ink, hideOverlap: true, formatter: placeText(chart.x) };
    if (chart.x.unit) return canZoom(chart) ? { ...look, min: 0, max: "dataMax", splitLine: { show: false } } : { ...look, min: 0 };
    if (canZoom(chart)) return { ...look, min: "dataMin", max: "dataMax", minInterval: 1, splitLine: { show: false } };
    const counts = chart.curves.flatMap((curve) => curve.points.map(([x]) => x));
    const first = Math.min(...counts);
    const last = Math.max(...counts);
    const longest = Math.max(0, ...(chart.x.labels ?? []).map((label) => label.length));
    const customValues = countTicks(first, last, longest ? width * Math.min(1, 4 / longest) : width);
    const room = first === last ? 1 : 0;
    return { ...look, min: first - room, max: last + room, axisTick: { customValues }, axisLabel: { ...look.axisLabel, customValues } };
  };

  const zoomOf = (chart, state, colors) => {
    if (!canZoom(chart)) return [];
    const zoom = { xAxisIndex: 0, filterMode: "weakFilter" };
    return [
      { type: "inside", ...zoom, disabled: isTouch, zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
      {
        type: "slider", ...zoom, show: !state.isPrinted, bottom: 6, height: 20, borderColor: colors.line,
        textStyle: { color: colors.quiet }, labelFormatter: placeText(chart.x), showDataShadow: false,
      },
    ];
  };

  const curvesOption = (chart, state, colors, width) => {
    const isShown = ({ group }) => !state.hidden.has(group);
    const bands = state.eachRun ? [] : (chart.bands ?? []).filter(isShown);
    const pooled = new Set(bands.map((band) => band.group));
    const curves = [...bands.map(medianOf), ...chart.curves.filter((curve) => isShown(curve) && !pooled.has(curve.group)).map(withRanges)];
    const longest = Math.max(0, ...curves.map((curve) => curve.points.length));
    const hasSlider = canZoom(chart) && !state.isPrinted;
    return {
      ...base(colors),
      grid: { left: 8, right: 22, top: 34, bottom: hasSlider ? 64 : 24, containLabel: true },
      xAxis: xAxisOf(chart, colors, width),
      yAxis: {
        type: state.logarithmic ? "log" : "value", name: labelOf(chart.y), scale: state.logarithmic || !chart.y.unit,
        ...axisLook(colors), nameTextStyle: { color: colors.quiet, align: "left" },
        axisLabel: { color: colors.ink, formatter: tickText },
      },
      dataZoom: zoomOf(chart, state, colors),
      tooltip: curvesTooltip(chart, curves, colors),
      series: [
        ...[...bands, ...curves.filter((curve) => curve.isBand).map(bandOf)].map((band) => bandSeries(band, lookOf(band.style, colors))),
        ...curves.map((curve) =>
          lineSeries(curve, lookOf(curve.style, colors), colors.ground, longest <= 60 && curves.length <= 24 && width > 200)),
        ...curves.filter((curve) => curve.intervals && !curve.isBand).map((curve) => whiskerSeries(curve, lookOf(curve.style, colors))),
      ],
    };
  };

  // ---- bars and waterfalls ----
  // Both are bars that lie, drawn by hand for the sake of their whiskers, links and numbers.
  // Labels stand to the left where the longest leaves room, otherwise each above its bar. None is cut.
  const lyingLayout = (chart, width) => {
    const labels = (chart.bars ?? chart.steps).map((item) => item.label);
    const size = width < narrow ? 11 : 12;
    const longest = longestOf(labels, size);
    const isBeside = longest <= 0.34 * width;
    const lines = labels.map((label) => (isBeside ? [label] : linesOf(label, width - 24, size)));
    const above = isBeside ? 0 : lineHeight * Math.max(...lines.map((list) => list.length));
    return { size, lines, isBeside, above, left: isBeside ? longest + 20 : 10, pitch: 32 + above };
  };

  // Room to the right of the axis, for numbers at the ends of the longest bars.
  const roomFor = (items, most, layout, width) => {
    const plot = width - layout.left;
    const needed = items.map((item) => {
      const text = widthOf(item.text, layout.size) + 12;
      const part = Math.max(item.from, item.to) / most;  // of the axis, on which the bar ends
      return part > 0 ? (text - (1 - part) * plot) / part : 0;
    });
    return Math.max(22, ...needed);
  };

  const lyingOption = (chart, axis, items, colors, width) => {
    const layout = lyingLayout(chart, width);
    const most = Math.max(0, ...items.flatMap((item) => [item.from, item.to, item.high ?? 0])) || 1;
    const name = linesOf(labelOf(axis), width - 24);
    return {
      ...base(colors),
      grid: { left: layout.left, right: roomFor(items, most, layout, width), top: 8, bottom: 30 + lineHeight * name.length },
      xAxis: {
        type: "value", min: 0, name: name.join("\n"), nameLocation: "middle", nameGap: 26, ...axisLook(colors),
        splitNumber: width < narrow ? 3 : 5, axisLabel: { color: colors.ink, hideOverlap: true, formatter: tickText },
        nameTextStyle: { color: colors.quiet, lineHeight, verticalAlign: "top", padding: [-6, 0, 0, 0] },
      },
      yAxis: {
        type: "category", inverse: true, data: items.map((item) => item.label), ...axisLook(colors),
        axisTick: { show: false }, splitLine: { show: false },
        axisLabel: { show: layout.isBeside, color: colors.ink, interval: 0, fontSize: layout.size },
      },
      tooltip: tooltip(colors, { trigger: "item", formatter: (item) => tip(items[item.dataIndex].label, items[item.dataIndex].lines) }),
      series: [{
        type: "custom", data: items.map((item, index) => [item.to, index, item.from, item.high ?? item.to]),
        encode: { x: [0, 2, 3], y: 1 },
        renderItem: (parameters, api) => lyingBar(items, parameters.dataIndex, api, colors, layout),
      }],
    };
  };

  // The whisker is in the lower half of a bar, so that the number stands beside it at the bar's end.
  const whisker = (item, index, middle, api, colors) => {
    const [low, high] = [item.low, item.high].map((value) => api.coord([value, index])[0]);
    const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colors.ink, lineWidth: 1.4 } });
    const y = middle + 6;
    return [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)];
  };

  const lyingBar = (items, index, api, colors, layout) => {
    const item = items[index];
    const height = 22;
    const row = api.coord([0, index])[1];
    const middle = row + layout.above / 2;
    const [left, right] = [Math.min(item.from, item.to), Math.max(item.from, item.to)].map((value) => api.coord([value, index])[0]);
    const hasWhisker = item.high !== undefined;
    const text = (value, x, y, verticalAlign) =>
      ({ type: "text", style: { text: value, x, y, fill: colors.ink, verticalAlign, fontSize: layout.size, fontFamily, lineHeight } });
    const parts = [{
      type: "rect", shape: { x: left, y: middle - height / 2, width: Math.max(1, right - left), height, r: 2 },
      style: { fill: item.color },
    }];
    if (hasWhisker) parts.push(...whisker(item, index, middle, api, colors));
    if (item.linked) {
      const x = api.coord([item.from, index])[0];
      const y = middle - layout.pitch;
      parts.push({ type: "line", shape: { x1: x, y1: y, x2: x, y2: middle }, style: { stroke: colors.quiet, lineWidth: 1.4, lineDash: [3, 3] } });
    }
    if (!layout.isBeside) parts.push(text(layout.lines[index].join("\n"), layout.left, middle - height / 2 - 2, "bottom"));
    parts.push(text(item.text, right + 6, middle - (hasWhisker ? 5 : 0), "middle"));
    return { type: "group", children: parts };
  };

  const barItems = (chart, colors) => {
    const digits = digitsOf(chart.value);
    return chart.bars.map((bar) => {
      const text = shown(bar.value, digits);
      const lines = [[labelOf(chart.value), text]];
      if (bar.interval) lines.push(["interval", bar.interval.map((end) => shown(end, digits)).join(" to ")]);
      return {
        label: bar.label, from: 0, to: bar.value ?? 0, color: lookOf(bar.style, colors).color, text, lines,
        low: bar.interval?.[0] ?? undefined, high: bar.interval?.[1] ?? undefined,
      };
    });
  };

  const stepItems = (chart, colors) => {
    const tints = { whole: colors.palette[0], gain: colors.gain, loss: colors.loss };
    return chart.steps.map((step) => {
      const isWhole = step.kind === "whole";
      const percent = isWhole ? "" : `${step.to > step.from ? "+" : "−"}${Math.abs(100 * (step.to - step.from) / step.from).toFixed(0)} %`;
      const text = shown(step.to, 4);
      return {
        label: step.label, from: step.from, to: step.to, color: tints[step.kind], linked: !isWhole,
        text: percent ? `${text} (${percent})` : text,
        lines: [[labelOf(chart.value), text], ...(isWhole ? [] : [["change", `${shown(step.to - step.from, 4)}, ${percent}`]])],
      };
    });
  };

  // ---- heat maps ----
  const luminance = (color) => {
    const [r, g, b] = [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16) / 255);
    return 0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2;
  };

  // Labels of rows are broken into lines, labels of columns are turned, where they are too long. None is cut.
  const heatLayout = (chart, width) => {
    const rowWidth = Math.max(60, 0.3 * width);
    const rows = chart.rows.map((label) => linesOf(label, rowWidth));
    const left = longestOf(rows.flat()) + 16;
    const right = 14;
    const cell = (width - left - right) / chart.columns.length;
    const isTurned = longestOf(chart.columns) > cell - 6;
    const columns = chart.columns.map((label) => (isTurned ? linesOf(label, 150) : [label]));
    const thickness = isTurned ? lineHeight * Math.max(...columns.map((lines) => lines.length)) : 0;
    const columnHeight = isTurned ? longestOf(columns.flat()) : lineHeight;
    const xName = linesOf(labelOf(chart.x), width - left - right);
    const yName = linesOf(labelOf(chart.y), width - left - right);
    const top = 18 + lineHeight * yName.length;
    return {
      rows, columns, left, right, isTurned, columnHeight, xName, yName, top, hasRoom: cell > 40,
      skipped: isTurned ? Math.max(0, Math.ceil(thickness / cell) - 1) : 0,
      bottom: columnHeight + lineHeight * xName.length + 68,
      rowHeight: Math.max(32, 8 + lineHeight * Math.max(...rows.map((lines) => lines.length))),
    };
  };

  const heatOption = (chart, colors, width) => {
    const values = chart.cells.flat().filter((value) => value !== null);
    const least = Math.min(...values);
    const most = Math.max(...values);
    const isWide = least > 0 && most > 20 * least;
    const scaled = (value) => (isWide ? Math.log10(value) : value);
    const share = (value) => (scaled(value) - scaled(least)) / (scaled(most) - scaled(least) || 1);
    const inkOn = (value) => {
      const nearest = colors.ramp[Math.round(share(value) * (colors.ramp.length - 1))];
      return luminance(nearest) > 0.2 ? "#101418" : "#ffffff";
    };
    const layout = heatLayout(chart, width);
    const category = (labels, name) => ({
      type: "category", data: labels.map((lines) => lines.join("\n")), name: name.join("\n"), ...axisLook(colors),
      splitLine: { show: false }, axisTick: { show: false },
    });
    return {
      ...base(colors),
      grid: { left: layout.left, right: layout.right, top: layout.top, bottom: layout.bottom },
      xAxis: {
        ...category(layout.columns, layout.xName), nameLocation: "middle", nameGap: layout.columnHeight + 14,
        nameTextStyle: { color: colors.quiet, lineHeight, verticalAlign: "top", padding: [-6, 0, 0, 0] },
        axisLabel: { color: colors.ink, interval: layout.skipped, rotate: layout.isTurned ? 90 : 0, lineHeight },
      },
      yAxis: {
        ...category(layout.rows, layout.yName), inverse: true, nameLocation: "start",
        nameTextStyle: { color: colors.quiet, align: "left", lineHeight },
        axisLabel: { color: colors.ink, interval: 0, lineHeight, align: "right" },
      },
      visualMap: {
        show: least !== most, type: "continuous", min: scaled(least), max: scaled(most), calculable: !isTouch, orient: "horizontal", left: "center",
        bottom: 2, inRange: { color: colors.ramp }, textStyle: { color: colors.ink }, itemHeight: Math.min(220, width * 0.45),
        formatter: (value) => shown(isWide ? 10 ** value : value, 3),
      },
      tooltip: tooltip(colors, {
        trigger: "item",
        formatter: (item) => tip(`${chart.rows[item.data.value[1]]}, ${chart.x.name} ${chart.columns[item.data.value[0]]}`,
          [[labelOf(chart.value), shown(item.data.raw, 4)]]),
      }),
      series: [{
        type: "heatmap", itemStyle: { borderColor: colors.ground, borderWidth: 1 },
        data: chart.cells.flatMap((cells, row) => cells.flatMap((value, column) => (value === null ? [] : [{
          value: [column, row, scaled(value)], raw: value,
          label: { show: layout.hasRoom, color: inkOn(value), formatter: () => shown(value, 3) },
        }]))),
      }],
    };
  };

  // ---- any chart ----
  const heightOf = (chart, width) => {
    if (chart.kind === "curves") return width < narrow ? 320 : 400;
    if (chart.kind === "heat map") {
      const { top, bottom, rowHeight } = heatLayout(chart, width);
      return top + bottom + rowHeight * chart.rows.length;
    }
    const nameHeight = lineHeight * linesOf(labelOf(chart.value), width - 24).length;
    return 38 + nameHeight + lyingLayout(chart, width).pitch * (chart.bars ?? chart.steps).length;
  };

  // `state`: the groups of curves that are hidden, and whether each run has its curve, the scale is logarithmic, and the
  // page is printed.
  const optionOf = (chart, state, colors, width) => {
    if (chart.kind === "curves") return curvesOption(chart, state, colors, width);
    if (chart.kind === "heat map") return heatOption(chart, colors, width);
    return lyingOption(chart, chart.value, chart.kind === "bars" ? barItems(chart, colors) : stepItems(chart, colors), colors, width);
  };

  return { canZoom, element, heightOf, lookOf, optionOf, themes, unique };
})();
