// Draws the charts of the report with uPlot, from the JSON in the page; a chart that fails leaves its picture.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (name) => css(`--${name}`) || name;
  const figure = (value) => {
    if (value == null) return "–";
    const size = Math.abs(value);
    return value.toLocaleString("en", size && size < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 0 });
  };
  const unjoined = (dots) => dots && dots !== "solid";
  const nines = (x) => {
    const share = 100 * (1 - 10 ** -x);
    return `${share.toLocaleString("en", { maximumFractionDigits: Math.max(0, Math.ceil(x) - 2) })} %`;
  };

  const ticks125 = (u) => {
    const { min, max } = u.scales.y;
    const steps = max / min > 3e4 || u.height < 250 ? [1] : max / min < 12 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 2, 5];
    const found = [];
    for (let power = Math.floor(Math.log10(min)); 10 ** power <= max; power++) {
      found.push(...steps.map((step) => step * 10 ** power).filter((tick) => tick >= min && tick <= max));
    }
    return found;
  };

  const shares = (u) => {  // those of 0, 50, 90, 99 … % that have room, the highest first
    const room = 60;
    const found = [];
    for (const x of [0, 0.30103, 1, 2, 3, 4, 5, 6].filter((x) => x <= u.scales.x.max && x >= u.scales.x.min).reverse()) {
      const far = found.every((other) => Math.abs(u.valToPos(x, "x") - u.valToPos(other, "x")) >= room);
      if (far) found.unshift(x);
    }
    return found;
  };

  const line = ({ dash } = {}) => (!dash ? "solid" : dash[0] > 4 ? "dashed" : "dotted");

  // Series with abscissas of their own, some of them twice, become columns over common abscissas. Where a series has no
  // value it is undefined, which its line passes over; null stays a gap.
  const joined = (series) => {
    const most = new Map();
    for (const { x } of series) {
      const here = new Map();
      for (const at of x) here.set(at, (here.get(at) || 0) + 1);
      for (const [at, count] of here) most.set(at, Math.max(count, most.get(at) || 0));
    }
    const order = [...most.keys()].sort((a, b) => a - b);
    const places = new Map();
    const xs = [];
    for (const at of order) {
      places.set(at, xs.length);
      for (let i = 0; i < most.get(at); i++) xs.push(at);
    }
    const columns = series.map(({ x, y }) => {
      const column = new Array(xs.length).fill(undefined);
      const used = new Map();
      x.forEach((at, i) => {
        const nth = used.get(at) || 0;
        used.set(at, nth + 1);
        column[places.get(at) + nth] = y[i];
      });
      column.forEach((value, i) => {  // a gap reaches to the values on both sides
        if (value !== null) return;
        for (let j = i - 1; column[j] === undefined && j >= 0; j--) column[j] = null;
        for (let j = i + 1; column[j] === undefined && j < column.length; j++) column[j] = null;
      });
      return column;
    });
    return [xs, ...columns];
  };

  const nearest = (u, index, at) => {
    const column = u.data[index];
    for (let off = 0; off < column.length; off++) {
      if (column[at - off] != null) return at - off;
      if (column[at + off] != null) return at + off;
    }
    return at;
  };

  const spans = (u, row) => {
    for (const [nth, { name, low, at, high, unit = "/s", colour: mark }] of (row.spans || []).entries()) {
      const [left, middle, right] = [low, at, high].map((x) => u.valToPos(x, "x", true));
      const { left: x0, top, width, height } = u.bbox;
      u.ctx.save();
      u.ctx.beginPath();
      u.ctx.rect(x0, top, width, height);
      u.ctx.clip();
      u.ctx.fillStyle = u.ctx.strokeStyle = colour(mark);
      u.ctx.globalAlpha = 0.15;
      u.ctx.fillRect(left, top, right - left, height);
      u.ctx.globalAlpha = 1;
      u.ctx.lineWidth = 2 * devicePixelRatio;
      u.ctx.beginPath();
      u.ctx.moveTo(middle, top);
      u.ctx.lineTo(middle, top + height);
      u.ctx.stroke();
      u.ctx.font = `${12 * devicePixelRatio}px system-ui`;
      const before = middle > x0 + width / 2;  // on the side that has more room
      const named = `${name} ~${figure(at < 20 ? at : Math.round(at))}${unit}`;
      const end = (value) => value.toLocaleString("en", value < 999.5 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 });
      const ranged = `${named} (${end(low)}–${end(high)})`;  // as in the sentence above
      const gap = 5 * devicePixelRatio;
      const room = (before ? middle - x0 : x0 + width - middle) - 2 * gap;
      const text = u.ctx.measureText(ranged).width < room ? ranged : named;
      const wide = u.ctx.measureText(text).width;
      const start = before ? middle - gap - wide : middle + gap;
      u.ctx.textAlign = "left";
      u.ctx.fillText(text, Math.max(x0 + gap, Math.min(start, x0 + width - gap - wide)), top + (14 + 16 * nth) * devicePixelRatio);  // across the line rather than cut off
      u.ctx.restore();
    }
  };

  // Dashes across what was not measured, and the points of percentiles that too few requests support.
  const dashes = (u, row, index) => {
    const { across } = row.series[index - 1] || {};
    if (!across || !u.series[index].show) return;
    const [xs, ys] = [across[0].map((x) => u.valToPos(x, "x", true)), across[1].map((y) => u.valToPos(y, "y", true))];
    u.ctx.save();
    u.ctx.strokeStyle = css("--faint");
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([2, 4].map((length) => length * devicePixelRatio));
    u.ctx.beginPath();
    u.ctx.moveTo(xs[0], ys[0]);
    u.ctx.lineTo(xs[1], ys[1]);
    u.ctx.stroke();
    u.ctx.restore();
  };

  const options = (row, width, group) => ({
    width,
    height: row.height,
    cursor: {
      dataIdx: (u, index, at) => (index ? nearest(u, index, at) : at),
      points: { size: 7 },
      ...(group && { sync: { key: group } }),
    },
    scales: {
      x: { time: false, ...(row.from != null && { range: (u, low, high) => (u.data[0][0] === low ? [row.from, high + 0.02 * (high - row.from)] : [low, high]) }) },
      y: row.log
        ? { distr: 3, range: (_, low, high) => (low > 0 ? [low / 1.5, high * 1.5] : [0.1, 10]) }
        : { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * (row.spans?.length ? 1.2 : 1.05)] },  // room for the names of spans
    },
    axes: [
      { label: row.x, labelSize: 22, size: 34, labelFont: "12px system-ui", font: "12px system-ui",
        values: (_, ticks) => ticks.map(row.nines ? nines : figure),
        ...(row.nines && { splits: (u) => shares(u) }) },
      { label: row.y, labelSize: 22, size: 54, labelFont: "12px system-ui", font: "12px system-ui",
        values: (_, ticks) => ticks.map(figure), ...(row.log && { splits: ticks125, filter: (_, ticks) => ticks }) },
    ].map((axis) => ({ ...axis, stroke: () => css("--faint"), grid: { stroke: () => css("--line"), width: 1 },
                       ticks: { stroke: () => css("--line"), width: 1 } })),
    series: [
      { label: row.at || row.x, value: (_, x) => (x == null ? "–" : row.nines ? nines(x) : figure(x)) },
      ...row.series.map(({ name, colour: mark, dash, width: thick, dots, show }) => ({
        label: name,
        show: show !== false,
        stroke: () => colour(mark),
        width: thick || 1.5,
        dash,
        value: (_, y) => (dots === "failed" ? "–" : figure(y)),
        ...(unjoined(dots) && { paths: () => null }),
        ...(row.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
        points: { show: Boolean(dots), size: dots === "small" ? 4 : dots === "hollow" ? 9 : 6, width: 1.2,
                  fill: () => (dots === "hollow" ? css("--card") : colour(mark)) },
      })),
    ],
    legend: { markers: { width: 3, dash: (_, index) => line(row.series[index - 1]) } },
    hooks: {
      ready: [(u) => row.series.forEach(({ dots }, i) => {
        if (unjoined(dots)) u.root.querySelectorAll(".u-series")[i + 1].classList.add("point");
      })],
      drawAxes: [(u) => spans(u, row)], drawSeries: [(u, index) => dashes(u, row, index)],
    },
  });

  const made = [];
  for (const place of document.querySelectorAll("[data-chart]")) {
    const rows = charts[place.dataset.chart];
    if (!rows) continue;
    try {
      for (const row of rows) {
        const width = () => Math.max(place.parentElement.clientWidth - 26, 240);
        const u = new uPlot(options(row, width(), rows.length > 1 && place.dataset.chart), joined(row.series), place);
        made.push([u, row, width]);
      }
      place.parentElement.classList.add("live");
    } catch (error) {
      place.replaceChildren();
      console.error(error);
    }
  }
  addEventListener("resize", () => made.forEach(([u, row, width]) => u.setSize({ width: width(), height: row.height })));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => made.forEach(([u]) => u.redraw()));

  // A link to a step opens its tables.
  const opened = () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
  addEventListener("hashchange", opened);
  opened();
})();
