// What each chart of the page looks like: from its JSON to options of ECharts. Texts in that JSON come from files: they
// reach the page as text nodes and as labels only, never as HTML.
"use strict";
const charts = (() => {
  // The light colours are those of palette.h.
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
    const text = value.toPrecision(digits);
    return text.includes("e") ? String(Number(text)) : text;
  };
  const shortened = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const unique = (list) => [...new Set(list)];

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
    textStyle: { fontFamily: "system-ui, 'DejaVu Sans', sans-serif", color: colors.ink },
    backgroundColor: "transparent",
  });
  const axisLook = (colors) => ({
    axisLine: { lineStyle: { color: colors.quiet } },
    axisLabel: { color: colors.ink, hideOverlap: true },
    nameTextStyle: { color: colors.quiet },
    splitLine: { lineStyle: { color: colors.line } },
  });
  const tickText = (value) => String(Number(value.toPrecision(6)));

  // ---- curves ----
  const lookOf = (groups, group, colors) => {
    const index = groups.indexOf(group);
    return {
      color: colors.palette[index % colors.palette.length],
      dash: dashes[Math.floor(index / colors.palette.length) % dashes.length],
    };
  };

  const lineSeries = (curve, look, ground, isMarked) => ({
    type: "line", id: curve.name, name: curve.name, color: look.color,
    lineStyle: { type: look.dash, width: 1.8 }, symbolSize: 5, showSymbol: isMarked, emphasis: { focus: "series" },
    symbol: "circle",
    data: curve.points.map(([x, y, note]) => (note
      ? { value: [x, y], note, symbolSize: 8, itemStyle: { color: ground, borderColor: look.color, borderWidth: 2 } }
      : { value: [x, y] })),
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

  const curvesTooltip = (chart, curves, colors) => {
    const digits = 6;
    const ofLines = (items) => items.filter((item) => item.seriesType === "line");
    const line = (item) => [item.seriesName + (item.data.note ? ` (${item.data.note})` : ""), shown(item.data.value[1], digits)];
    const heading = (item) => `${chart.x.name} ${tickText(item.data.value[0])}${chart.x.unit ? " " + chart.x.unit : ""}`;
    const areFew = curves.length <= manyCurves;
    return tooltip(colors, {
      trigger: areFew ? "axis" : "item",
      formatter: (items) => (Array.isArray(items)
        ? tip(chart.x.unit ? chart.y.name : heading(items[0]), ofLines(items).map(line))
        : tip(heading(items), [line(items)])),
    });
  };

  const curvesOption = (chart, state, colors, width) => {
    const groups = unique(chart.curves.map((curve) => curve.group));
    const curves = chart.curves.filter((curve) => !state.hidden.has(curve.group));
    const longest = Math.max(0, ...curves.map((curve) => curve.points.length));
    const zoom = { xAxisIndex: 0, filterMode: "filter" };
    const isCount = !chart.x.unit;
    return {
      ...base(colors),
      grid: { left: 8, right: 18, top: 34, bottom: state.isPrinted ? 34 : 74, containLabel: true },
      xAxis: {
        type: "value", min: isCount ? "dataMin" : 0, max: "dataMax", name: labelOf(chart.x), nameLocation: "middle",
        nameGap: 26, minInterval: isCount ? 1 : 0, ...axisLook(colors),
        axisLabel: { color: colors.ink, hideOverlap: true, formatter: tickText, showMaxLabel: isCount },
      },
      yAxis: {
        type: state.logarithmic ? "log" : "value", name: labelOf(chart.y), scale: state.logarithmic || !chart.y.unit,
        ...axisLook(colors), nameTextStyle: { color: colors.quiet, align: "left" },
        axisLabel: { color: colors.ink, formatter: tickText },
      },
      dataZoom: [
        { type: "inside", ...zoom, disabled: isTouch, zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
        {
          type: "slider", ...zoom, show: !state.isPrinted, bottom: 6, height: 20, borderColor: colors.line,
          textStyle: { color: colors.quiet }, labelFormatter: tickText, showDataShadow: false,
        },
      ],
      tooltip: curvesTooltip(chart, curves, colors),
      series: [
        ...curves.map((curve) =>
          lineSeries(curve, lookOf(groups, curve.group, colors), colors.ground, longest <= 60 && curves.length <= 24 && width > 200)),
        ...curves.filter((curve) => curve.intervals).map((curve) => whiskerSeries(curve, lookOf(groups, curve.group, colors))),
      ],
    };
  };

  // ---- bars and waterfalls ----
  // Both are bars that lie, drawn by hand for the sake of their whiskers, links and numbers.
  const lyingOption = (chart, axis, items, colors, width) => {
    const isNarrow = width < narrow;
    const labelWidth = isNarrow ? Math.round(width * 0.3) : Math.min(420, Math.round(width * 0.36));
    const room = 14 + (isNarrow ? 6 : 6.6) * Math.max(...items.map((item) => item.text.length));  // for the numbers
    const most = Math.max(0, ...items.flatMap((item) => [item.from, item.to, item.high ?? 0]));
    return {
      ...base(colors),
      grid: { left: 8, right: room, top: 8, bottom: 34, containLabel: true },
      xAxis: {
        type: "value", min: 0, max: most > 0 ? most : 1, name: labelOf(axis), nameLocation: "middle", nameGap: 26,
        ...axisLook(colors), axisLabel: { color: colors.ink, hideOverlap: true, formatter: tickText, showMaxLabel: false },
      },
      yAxis: {
        type: "category", inverse: true, data: items.map((item) => item.label), ...axisLook(colors),
        axisTick: { show: false }, splitLine: { show: false },
        axisLabel: { color: colors.ink, width: labelWidth, overflow: "truncate", interval: 0, fontSize: isNarrow ? 11 : 12 },
      },
      tooltip: tooltip(colors, { trigger: "item", formatter: (item) => tip(items[item.dataIndex].label, items[item.dataIndex].lines) }),
      series: [{
        type: "custom", data: items.map((item, index) => [item.to, index]),
        renderItem: (parameters, api) => lyingBar(items, parameters.dataIndex, api, colors, isNarrow),
      }],
    };
  };

  const lyingBar = (items, index, api, colors, isNarrow) => {
    const item = items[index];
    const at = (value, row) => api.coord([value, row]);
    const height = Math.min(22, api.size([0, 1])[1] * 0.7);
    const [left, middle] = at(Math.min(item.from, item.to), index);
    const right = at(Math.max(item.from, item.to), index)[0];
    const line = (x1, y1, x2, y2, color, more) =>
      ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 1.4, ...more } });
    const parts = [{
      type: "rect", shape: { x: left, y: middle - height / 2, width: Math.max(1, right - left), height, r: 2 },
      style: { fill: item.color },
    }];
    let end = right;
    if (item.high !== undefined) {
      const low = at(item.low, index)[0];
      const high = at(item.high, index)[0];
      const cap = height / 4;
      parts.push(line(low, middle, high, middle, colors.ink), line(low, middle - cap, low, middle + cap, colors.ink),
        line(high, middle - cap, high, middle + cap, colors.ink));
      end = Math.max(end, high);
    }
    if (item.linked) {
      const from = at(item.from, index)[0];
      parts.push(line(from, at(0, index - 1)[1], from, middle, colors.quiet, { lineDash: [3, 3] }));
    }
    parts.push({
      type: "text",
      style: { text: item.text, x: end + 6, y: middle, fill: colors.ink, verticalAlign: "middle", fontSize: isNarrow ? 11 : 12 },
    });
    return { type: "group", children: parts };
  };

  const barItems = (chart, colors) => {
    const digits = digitsOf(chart.value);
    return chart.bars.map((bar) => {
      const text = shown(bar.value, digits);
      const lines = [[labelOf(chart.value), text]];
      if (bar.interval) lines.push(["interval", bar.interval.map((end) => shown(end, digits)).join(" .. ")]);
      return {
        label: bar.label, from: 0, to: bar.value ?? 0, color: colors.palette[0], text, lines,
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
    const labelWidth = width < narrow ? Math.round(width * 0.28) : 240;
    const hasRoom = (width - labelWidth) / chart.columns.length > 34;
    const category = (names, axis) => ({
      type: "category", data: names, name: labelOf(axis), ...axisLook(colors), splitLine: { show: false }, axisTick: { show: false },
    });
    return {
      ...base(colors),
      grid: { left: 8, right: 12, top: 34, bottom: 84, containLabel: true },
      xAxis: { ...category(chart.columns, chart.x), nameLocation: "middle", nameGap: 26 },
      yAxis: {
        ...category(chart.rows, chart.y), inverse: true, nameLocation: "start",
        nameTextStyle: { color: colors.quiet, align: "left" },
        axisLabel: { color: colors.ink, width: labelWidth, overflow: "truncate", interval: 0 },
      },
      visualMap: {
        type: "continuous", min: scaled(least), max: scaled(most), calculable: !isTouch, orient: "horizontal", left: "center",
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
          label: { show: hasRoom, color: inkOn(value), formatter: () => shown(value, 3) },
        }]))),
      }],
    };
  };

  // ---- any chart ----
  const heightOf = (chart, width) => {
    if (chart.kind === "curves") return width < narrow ? 320 : 400;
    if (chart.kind === "heat map") return 130 + 32 * chart.rows.length;
    return 52 + (chart.kind === "bars" ? 27 : 34) * (chart.bars ?? chart.steps).length;
  };

  // `state`: the groups of curves that are hidden, and whether the scale is logarithmic and the page printed.
  const optionOf = (chart, state, colors, width) => {
    if (chart.kind === "curves") return curvesOption(chart, state, colors, width);
    if (chart.kind === "heat map") return heatOption(chart, colors, width);
    return lyingOption(chart, chart.value, chart.kind === "bars" ? barItems(chart, colors) : stepItems(chart, colors), colors, width);
  };

  return { element, heightOf, lookOf, optionOf, shortened, themes, unique };
})();
