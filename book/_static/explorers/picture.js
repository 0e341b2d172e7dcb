// The picture of a chart as SVG text: axes, lines, dots, and words beside what they name. No
// document is needed.
import { amount, plain, quantity, WHOLE } from './numbers.js';

/** The hues of the book's figures, in its order. */
export const COLOURS = [
  '#2f7fc1',
  '#d0640c',
  '#14916a',
  '#b5559b',
  '#808080',
  '#7a74c9',
  '#a8801a',
];
const DASHES = ['', '8 4', '2 3', '10 3 2 3', '1 4', '6 2', '4 4'];
const LINE = 14; // pixels, of a line of words
const SAME = 7; // pixels between dots that look like one
const FEW = 3; // values on the line that is held, beside their dots on a phone
const PHONE = 480; // pixels: a narrower picture is a phone's
const MANY = 45; // letters of their names, at most
const NO_BREAK = '\u00a0';
const FAR = 24; // pixels from a line's end to its name, over which both are seen as one

const narrow = /[iljtfrI.,:;'|()[\] ]/;
const wide = /[mwMW%@]/;

const widths = new Map();

/**
 * About how wide a text is, at 12 pixels: a guess that needs no layout.
 * @param {string} text
 * @returns {number}
 */
export function widthOf(text) {
  if (widths.size > 5000) widths.clear();
  if (!widths.has(text)) widths.set(text, guess(text));
  return widths.get(text);
}

/** @param {string} text */
const guess = (text) =>
  [...text].reduce(
    (sum, c) => sum + (narrow.test(c) ? 4 : wide.test(c) ? 10.4 : /[A-Z]/.test(c) ? 7.9 : 6.7),
    0,
  );

/**
 * A text in lines no wider than so many pixels, where its words and quantities allow it.
 * @param {string} text
 * @param {number} most
 */
export function wrapped(text, most) {
  const lines = [''];
  const words = text.replace(WHOLE, (quantity) => quantity.replaceAll(' ', NO_BREAK)).split(' ');
  for (const word of words.map((each) => each.replaceAll(NO_BREAK, ' '))) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (!lines.at(-1) || widthOf(longer) <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// ---------------------------------------------------------------- axes

/**
 * Between values and pixels; decimals are kept, so that a straight line stays straight.
 * @param {boolean} linear
 * @param {number} low
 * @param {number} high
 * @param {number} from
 * @param {number} to
 * @returns {Scale}
 */
function scale(linear, low, high, from, to) {
  const of = linear ? Number : Math.log;
  const per = (to - from) / (of(high) - of(low));
  return {
    low,
    high,
    linear,
    from,
    to,
    place: (value) => from + (of(value) - of(low)) * per,
    value: (place) => {
      const found = of(low) + (place - from) / per;
      return linear ? found : Math.exp(found);
    },
  };
}

const finite = (values) =>
  values.filter((value) => value !== null && value !== undefined && Number.isFinite(value));

/**
 * Whole powers of ten around some values.
 * @param {number[]} values
 */
function decades(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!(low > 0)) return [1, 10];
  const from = 10 ** Math.floor(Math.log10(low) + 1e-9);
  const to = 10 ** Math.ceil(Math.log10(high) - 1e-9);
  return [from, to > from ? to : from * 10];
}

/**
 * The ticks of a logarithmic axis as people write them: in full, or all that are large with a
 * prefix as soon as one of them needs it, as in the figures of the book.
 * @param {number[]} values
 */
export function ticks(values, most = 1e5) {
  const inFull = values.every((value) => value >= 1e-3 && value < most);
  return values.map((value) =>
    inFull || (value >= 1e-3 && value < 1000) ? plain(value) : quantity(value, '', 3).trim(),
  );
}

/**
 * Round values in equal steps, about as many as there is room for.
 * @param {number} low
 * @param {number} high
 * @param {number} room
 * @returns {number[]}
 */
function evenly(low, high, room) {
  const ten = 10 ** Math.floor(Math.log10((high - low) / room));
  const step = [1, 2, 5, 10].map((each) => each * ten).find((each) => (high - low) / each <= room);
  return Array.from(
    { length: Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1 },
    (_, at) => Number(((Math.ceil(low / step - 1e-9) + at) * step).toPrecision(12)),
  );
}

/**
 * Values to mark on an axis, none closer than so many pixels to the next.
 * @param {Scale} scale
 * @param {number} apart
 * @returns {number[]}
 */
export function ticksOf({ low, high, linear, from, to }, apart) {
  const room = Math.max(2, Math.abs(to - from) / apart);
  if (linear) return evenly(low, high, room);
  const [first, last] = [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
  const within = (value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
  const every = (digits, step) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at)
      .filter((power) => power % step === 0)
      .flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)))
      .filter(within);
  const fine = every([1, 2, 5], 1);
  if (fine.length < 3 && high / low < 8) {
    const even = evenly(low, high, room / 2); // the closest two are at the upper end
    if (even.length > fine.length) return even;
  }
  if (fine.length <= Math.min(room, 8)) return fine;
  for (let step = 1; ; step += 1) {
    const found = every([1], step);
    if (found.length <= room || step > 30) return found;
  }
}

// ---------------------------------------------------------------- words beside things

/**
 * @param {Box} one
 * @param {Box} other
 */
const crosses = (one, other) =>
  one.left < other.right &&
  one.right > other.left &&
  one.top < other.bottom &&
  one.bottom > other.top;

/**
 * @param {Box} box
 * @param {number} x
 * @param {number} y
 */
const holds = ({ left, right, top, bottom }, x, y) =>
  x >= left && x <= right && y >= top && y <= bottom;

/**
 * Where a thin line from a dot ends at a box.
 * @param {number} x
 * @param {number} y
 * @param {Box} box
 */
const endOf = (x, y, { left, right, top, bottom }) => [
  Math.min(right, Math.max(left, x)),
  top > y ? top : bottom,
];

/** @param {string[]} lines */
const sized = (lines) => ({
  lines,
  width: Math.max(...lines.map(widthOf)),
  height: lines.length * LINE,
});

/**
 * @typedef {ReturnType<typeof sized>} Size
 * @typedef {[across: number, anchor: Box['anchor'], down: number]} Offset
 */

/**
 * Where words of a size may stand beside a dot, from its middle: right, left, above or below.
 * @param {Size} size
 * @param {number} near
 * @returns {Offset[]}
 */
const corners = ({ width, height }, near) => [
  [near, 'start', -height / 2],
  [-near - width, 'end', -height / 2],
  [-width / 2, 'middle', -near - height],
  [-width / 2, 'middle', near],
  [near, 'start', -height - 2],
  [near, 'start', 2],
  [-near - width, 'end', -height - 2],
  [-near - width, 'end', 2],
];

/**
 * ... and where they may stand further from it.
 * @param {Size} size
 * @param {number} near
 * @returns {Offset[]}
 */
const further = ({ width, height }, near) =>
  [20, 36, 54, 76, 100].flatMap((far) =>
    [far, -far - height].flatMap(
      (down) =>
        /** @type {Offset[]} */ ([
          [near, 'start', down],
          [-near - width, 'end', down],
          [-width / 2, 'middle', down],
        ]),
    ),
  );

const COLUMN = 24; // pixels
const AIR = 3; // pixels between words and a line beside them

/**
 * Keeps words apart: gives each the first free place of those it could have, the one least crossed
 * by lines.
 */
class Places {
  /**
   * @param {Box} bounds
   * @param {number[]} track
   */
  constructor(bounds, track) {
    this.bounds = bounds;
    /** @type {Box[]} */
    this.taken = [];
    /**
     * Points on lines, which words had better not cover: x and y in turn, by where x is.
     * @type {number[][]}
     */
    this.columns = [];
    this.avoid(track);
  }

  /** @param {number[]} track */
  avoid(track) {
    for (let at = 0; at < track.length; at += 2) {
      const column = Math.floor(track[at] / COLUMN);
      this.columns[column] ??= [];
      this.columns[column].push(track[at], track[at + 1]);
    }
  }

  /**
   * How many points on lines a box covers or nearly touches; more than some is not counted.
   * @param {Box} box
   * @param {number} some
   */
  crossed(box, some) {
    const { top, bottom } = box;
    const [left, right] = [box.left - AIR, box.right + AIR];
    let count = 0;
    for (let column = Math.floor(left / COLUMN); column <= right / COLUMN; column += 1) {
      const points = this.columns[column] ?? [];
      for (let at = 0; at < points.length && count < some; at += 2) {
        if (
          points[at + 1] > top &&
          points[at + 1] < bottom &&
          points[at] > left &&
          points[at] < right
        )
          count += 1;
      }
    }
    return count;
  }

  /** @param {Box} box */
  free(box) {
    const { left, right, top, bottom } = this.bounds;
    const aired = { ...box, left: box.left - AIR, right: box.right + AIR };
    return (
      box.left >= left &&
      box.right <= right &&
      box.top >= top &&
      box.bottom <= bottom &&
      !this.taken.some((other) => crosses(aired, other))
    );
  }

  /**
   * Whether a thin line from a dot to a box far from it would run through no words and no other
   * dot.
   * @param {number} x
   * @param {number} y
   * @param {Box} box
   */
  reaches(x, y, box) {
    const [across, down] = endOf(x, y, box);
    const others = this.taken.filter((each) => !holds(each, x, y));
    const steps = Math.ceil(Math.hypot(across - x, down - y) / AIR);
    return !Array.from({ length: steps }, (_, step) => (step + 1) / steps).some((share) =>
      others.some((each) => holds(each, x + share * (across - x), y + share * (down - y))),
    );
  }

  /**
   * Where to put words beside a dot, not above a height, in the first of some wordings that has
   * room: the box with its lines, or nothing if it is crowded.
   * @param {number} x
   * @param {number} y
   * @param {number} r
   * @param {string[][]} wordings
   * @returns {(Box & { lines: string[] }) | null}
   */
  beside(x, y, r, wordings, below = -Infinity) {
    /** @param {(size: Size) => Offset[]} offsets */
    const open = (offsets) =>
      wordings
        .map(sized)
        .flatMap((size) =>
          offsets(size).map(([across, anchor, down]) => ({
            left: x + across,
            right: x + across + size.width,
            top: y + down,
            bottom: y + down + size.height,
            anchor,
            lines: size.lines,
          })),
        )
        .filter((box) => box.top >= below && this.free(box));
    const beside = this.clearest(open((size) => corners(size, r + 4)));
    if (beside && !this.crossed(beside, 1)) return beside;
    const away = (near) =>
      open((size) => further(size, near)).filter((box) => this.reaches(x, y, box));
    const clear = this.clearest(away(r + 4)) ?? (beside ? null : this.clearest(away(r + 64)));
    const isClearer = clear && (!beside || this.crossed(clear, 99) < this.crossed(beside, 99));
    return isClearer ? { ...clear, far: true } : beside;
  }

  /**
   * A thin line to words that had to go further away, which other words had better not cover.
   * @param {number} x
   * @param {number} y
   * @param {Box} box
   */
  leader(x, y, box) {
    if (!box.far) return '';
    const [across, down] = endOf(x, y, box);
    const points = [];
    track(
      [
        [x, y],
        [across, down],
      ],
      points,
    );
    this.avoid(points);
    return (
      `<path d="M${fixed(x)} ${fixed(y)}L${fixed(across)} ${fixed(down)}" ` +
      'class="chart-leader"/>'
    );
  }

  /**
   * The first of some boxes that covers the fewest points on lines.
   * @template {Box} T
   * @param {T[]} boxes
   * @returns {T | null}
   */
  clearest(boxes) {
    let [best, least] = [null, Infinity];
    for (const box of boxes) {
      const count = this.crossed(box, least);
      if (count < least) [best, least] = [box, count];
      if (!count) break;
    }
    return best;
  }

  /**
   * Where words go that may stand in any of these boxes: a free one, or else the first.
   * @param {Box[]} boxes
   */
  among(boxes) {
    return this.take(this.clearest(boxes.filter((box) => this.free(box))) ?? boxes[0]);
  }

  /** @param {Box} box */
  take(box) {
    this.taken.push(box);
    return box;
  }
}

const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const fixed = (value) => Math.round(value * 100) / 100; // of a pixel
const text = (x, y, words, kind, anchor = 'start') =>
  `<text x="${fixed(x)}" y="${fixed(y)}" class="${kind}" text-anchor="${anchor}">` +
  `${escaped(words)}</text>`;

/**
 * Lines of words in the box that they were given.
 * @param {Box} box
 * @param {string[]} lines
 * @param {string} kind
 */
function worded({ left, right, top, anchor = 'start' }, lines, kind, apart = LINE) {
  const x = { start: left, middle: (left + right) / 2, end: right }[anchor];
  return lines.map((line, row) => text(x, top + 11 + row * apart, line, kind, anchor)).join('');
}

// ---------------------------------------------------------------- lines

const colourOf = (series, at) =>
  series.ink ? 'currentColor' : COLOURS[(series.colour ?? at) % COLOURS.length];
const dashOf = (series, at) => DASHES[(series.dash ?? at) % DASHES.length];

/**
 * The points of a line that are on the picture, in pixels.
 * @param {Series} series
 * @param {number[]} xs
 * @param {Scale} x
 * @param {Scale} y
 * @returns {[number, number][]}
 */
function trail({ ys }, xs, x, y) {
  return xs.flatMap((value, at) =>
    ys[at] === null || ys[at] === undefined || value < x.low || value > x.high
      ? []
      : [[x.place(value), y.place(ys[at])]],
  );
}

/**
 * A line's points and some between them: x and y in turn.
 * @param {[number, number][]} points
 * @param {number[]} found
 */
function track(points, found) {
  for (let at = 1; at < points.length; at += 1) {
    const [fromX, fromY] = points[at - 1];
    const [across, down] = [points[at][0] - fromX, points[at][1] - fromY];
    const steps = Math.min(80, Math.ceil(Math.max(Math.abs(across), Math.abs(down)) / 10));
    for (let step = 0; step < steps; step += 1)
      found.push(fromX + (across * step) / steps, fromY + (down * step) / steps);
  }
}

/**
 * Names at the ends of lines, pushed apart, each tied to its line: in the line's colour a tie would
 * read as more of it.
 * @param {ChartSpec} spec
 * @param {Frame} frame
 * @param {[number, number][][]} trails
 * @param {Places} places
 */
function names(spec, frame, trails, places) {
  const { gutter, right, top, bottom } = frame;
  const found = spec.series
    .flatMap((series, at) => {
      if (series.scatter || !trails[at].length || series.unnamed) return [];
      const words = wrapped(series.label, gutter.most);
      return [{ series, at, words, end: trails[at].at(-1), height: words.length * LINE, top: 0 }];
    })
    .sort((a, b) => a.end[1] - b.end[1] || a.at - b.at);
  let from = top - 8;
  for (const name of found) {
    name.top = Math.max(from, name.end[1] - name.height / 2);
    from = name.top + name.height + 3;
  }
  let until = bottom + 8;
  for (const name of [...found].reverse()) {
    name.top = Math.min(name.top, until - name.height);
    until = name.top - 3;
  }
  return found
    .map(({ words, end, top: high, height }) => {
      const middle = high + height / 2;
      const tie =
        `<path d="M${fixed(end[0] + 4)} ${fixed(end[1])}L${fixed(right + 6)} ${fixed(middle)}h6" ` +
        `class="chart-leader${right - end[0] > FAR ? ' chart-far' : ''}"/>`;
      places.take({
        left: right + 4,
        right: right + 15 + Math.max(...words.map(widthOf)),
        top: high,
        bottom: high + height,
      });
      places.take({
        left: Math.max(end[0] + 6, right),
        right: right + 12,
        top: Math.min(end[1], middle) - 2,
        bottom: Math.max(end[1], middle) + 2,
      });
      return (
        tie +
        words
          .map((line, row) => text(right + 15, high + 11 + row * LINE, line, 'chart-name'))
          .join('')
      );
    })
    .join('');
}

// ---------------------------------------------------------------- the picture

/**
 * Where the picture's parts are: what a pointer needs to know too.
 * @param {ChartSpec} spec
 * @param {number} width
 * @returns {Frame}
 */
export function frameOf(spec, width) {
  const height = width < PHONE ? 220 : 300;
  const named = spec.series.filter((series) => !series.scatter && !series.unnamed);
  const most = width < PHONE ? 76 : 150;
  const gutter = {
    most,
    width: named.length
      ? 20 + Math.max(...named.flatMap(({ label }) => wrapped(label, most).map(widthOf)))
      : 22,
  };
  const xs = finite(spec.xs);
  const held = spec.at ?? {}; // what is held may be beyond all values
  const [low, high] = spec.x.range ?? [
    Math.min(Math.min(...xs) / 1.06, held.x ?? Infinity),
    Math.max(1.06 * (xs.length > 1 ? Math.max(...xs) : xs[0] * 10), held.x ?? 0),
  ];
  const start = spec.y.linear || spec.y.unit ? 52 : 46;
  const [end, far] = [
    width - gutter.width,
    Math.log((held.x ?? high) / low) / Math.log(high / low),
  ];
  // room for a handle at the left, or for one below that stands there
  const beside = spec.at && held.x === undefined ? 5 : far * (end - start) < 14 ? 10 : 0;
  const [left, right, top, bottom] = [
    start + beside,
    end,
    spec.at?.x === undefined ? 26 : 32, // its words stand between the name of the axis and the top
    height - 40,
  ];
  const values = finite([
    ...spec.series.flatMap(({ ys }) =>
      ys.filter((_, at) => spec.xs[at] >= low && spec.xs[at] <= high),
    ),
    held.y,
  ]);
  const [least, largest] = spec.y.range ?? decades(values);
  return {
    width,
    height,
    left,
    right,
    top,
    bottom,
    beside,
    gutter,
    x: scale(false, low, high, left, right),
    y: scale(Boolean(spec.y.linear), least, largest, bottom, top),
  };
}

/**
 * @param {ChartSpec} spec
 * @param {Frame} frame
 */
function axes(spec, { left, right, top, bottom, x, y, beside }) {
  const [across, up] = [ticksOf(x, 44), ticksOf(y, 26)];
  const [under, upwards] = [ticks(across), ticks(up, 1e4)];
  const lines =
    across.map((value) => `M${fixed(x.place(value))} ${top}V${bottom}`).join('') +
    up.map((value) => `M${left} ${fixed(y.place(value))}H${fixed(right)}`).join('');
  return (
    `<path d="${lines}" class="chart-grid"/>` +
    across
      .map((value, at) => text(x.place(value), bottom + 22, under[at], 'chart-tick', 'middle'))
      .join('') +
    up
      .map((value, at) =>
        text(
          left - 6 - beside,
          y.place(value) + 4,
          y.linear ? plain(value) : spec.y.unit ? quantity(value, spec.y.unit) : upwards[at],
          'chart-tick',
          'end',
        ),
      )
      .join('') +
    text((left + right) / 2, bottom + 37, spec.x.label, 'chart-axis', 'middle') +
    text(0, 11, spec.y.label, 'chart-axis')
  );
}

const across = (upright, place, { left, right, top, bottom }) =>
  upright ? `M${fixed(place)} ${top}V${bottom}` : `M${left} ${fixed(place)}H${fixed(right)}`;

/**
 * Lines across that a value is: upright at a value of x, level at one of y.
 * @typedef {{ mark: Mark, upright: boolean, place: number }} Rule
 * @param {Mark[]} marks
 * @param {Frame} frame
 * @returns {Rule[]}
 */
function rules(marks, frame) {
  const { left, right, top, bottom, x, y } = frame;
  return marks
    .filter((mark) => mark.x === undefined || mark.y === undefined)
    .flatMap((mark) => {
      const [upright, place] =
        mark.x === undefined ? [false, y.place(mark.y)] : [true, x.place(mark.x)];
      const within = upright ? place >= left && place <= right : place >= top && place <= bottom;
      return Number.isFinite(place) && within ? [{ mark, upright, place }] : [];
    });
}

/**
 * The words of an upright line that one holds: on its upper end.
 * @param {Rule} rule
 * @param {Frame} frame
 * @param {Places} places
 */
function topped({ mark: { label }, place }, { left, right, top }, places) {
  const half = widthOf(label) / 2;
  const middle = Math.max(left + half, Math.min(right - half, place));
  places.take({
    left: middle - half - 4,
    right: middle + half + 4,
    top: top - LINE + 2,
    bottom: top + 3,
  });
  return text(middle, top - 2, label, 'chart-word', 'middle');
}

/**
 * The words of such a line: beside an upright one, above a level one, and perhaps under it.
 * @param {Rule} rule
 * @param {Frame} frame
 * @param {Places} places
 */
function ruled({ mark, upright, place }, { width: all, left, right, top, bottom }, places) {
  const under = all < PHONE ? undefined : mark.under; // a phone has no room for it beside lines
  const lines = upright
    ? wrapped(mark.label, right - left < 350 ? 90 : 150)
    : [mark.label, ...(under ? [under] : [])];
  const [width, height] = [Math.max(...lines.map(widthOf)), lines.length * LINE + (under ? 4 : 0)];
  const rows = upright
    ? Array.from(
        { length: Math.floor((bottom - top - height) / LINE) },
        (_, row) => top + row * LINE,
      )
    : under
      ? [place - LINE - 2]
      : [place - LINE - 2, place + 2];
  const sides = upright
    ? [place + 5, place - 5 - width]
    : [0, 1, 0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875].map(
        (share) => left + 6 + share * (right - left - 12 - width),
      );
  // An upright line has its words at its right wherever there is room: at its left they could be
  // its neighbour's.
  /** @returns {Box} */
  const boxOf = (side, row) => ({
    left: side,
    right: side + width,
    top: row,
    bottom: row + height,
    anchor: upright && side < place ? 'end' : 'start',
  });
  const box = places.among(
    upright
      ? sides.flatMap((side) => rows.map((row) => boxOf(side, row)))
      : rows.flatMap((row) => sides.map((side) => boxOf(side, row))),
  );
  return worded(box, lines, 'chart-word', upright ? LINE : LINE + 4);
}

/**
 * Words in the middle of a region, at its top or at its foot.
 * @param {{ x: number, label: string, low?: boolean }} words
 * @param {Frame} frame
 * @param {Places} places
 */
function region({ x: along, label, low }, { x, left, right, top, bottom }, places) {
  const width = widthOf(label);
  const middle = (shift) =>
    Math.min(right - width / 2, Math.max(left + 4 + width / 2, x.place(along) + shift));
  const rows = [0, 1, 2].map((row) => (low ? bottom - (row + 1) * LINE - 4 : top + row * LINE));
  const box = places.among(
    rows.flatMap((row) =>
      [0, -25, 25, -50, 50].map(middle).map((at) => ({
        left: at - width / 2,
        right: at + width / 2,
        top: row,
        bottom: row + LINE,
        anchor: /** @type {const} */ ('middle'),
      })),
    ),
  );
  return worded(box, [label], 'chart-word chart-region');
}

/**
 * Words beside a dot on a picture with or without much room: as they are, and on a phone narrower.
 * @param {string} words
 * @param {Frame} frame
 */
const wordings = (words, { left, right }) =>
  (right - left < 350 ? [110, 76] : [170]).map((most) => wrapped(words, most));

/** Rings where something begins, with a word. */
function rings(marks, frame, places) {
  const { x, y } = frame;
  return marks
    .filter((mark) => mark.x !== undefined && mark.y !== undefined)
    .map((mark) => {
      const [across, down] = [x.place(mark.x), y.place(mark.y)];
      const box = places.beside(across, down, 6, wordings(mark.label, frame));
      const ring = `<circle cx="${fixed(across)}" cy="${fixed(down)}" r="6" class="chart-ring"/>`;
      if (!box) return ring;
      places.take(box);
      return (
        places.leader(across, down, box) + ring + worded(box, box.lines, 'chart-word chart-strong')
      );
    })
    .join('');
}

/** Dots with their names, the largest named first; and where they are. */
function dots(spec, frame, places) {
  const { x, y } = frame;
  const found = spec.series
    .flatMap((series, at) =>
      series.scatter
        ? series.ys.flatMap((value, index) =>
            value === null || value === undefined
              ? []
              : [
                  {
                    x: x.place(spec.xs[index]),
                    y: y.place(value),
                    r: series.sizes?.[index] ?? 5,
                    index,
                    colour: colourOf(series, at),
                    name: spec.names?.[index] ?? series.label,
                    names:
                      series.unnamed ||
                      [...(spec.marks ?? []), spec.at].some(
                        (mark) =>
                          mark?.x === spec.xs[index] &&
                          (mark !== spec.at || mark.label === series.label),
                      )
                        ? ''
                        : (spec.names?.[index] ?? series.label),
                  },
                ],
          )
        : [],
    )
    .sort((a, b) => b.r - a.r);
  for (const { x: cx, y: cy, r } of found)
    places.take({
      left: cx - r * 0.7,
      right: cx + r * 0.7,
      top: cy - r * 0.7,
      bottom: cy + r * 0.7,
    });
  const groups = []; // dots on one another are named together
  for (const dot of found.filter(({ names }) => names)) {
    const under = groups.find((each) => Math.hypot(each.x - dot.x, each.y - dot.y) < SAME);
    if (under) under.names += `, ${dot.names}`;
    else groups.push({ ...dot, first: dot.names });
  }
  const named = groups.map((dot) => {
    const whole = dot.names.length > MANY ? `${dot.first} and others` : dot.names;
    const box = places.beside(dot.x, dot.y, dot.r, wordings(whole, frame));
    if (!box) return '';
    places.take(box);
    return places.leader(dot.x, dot.y, box) + worded(box, box.lines, 'chart-word');
  });
  return {
    found,
    svg:
      named.join('') +
      found
        .map(
          ({ x: cx, y: cy, r, colour }) =>
            `<circle cx="${fixed(cx)}" cy="${fixed(cy)}" r="${fixed(r)}" fill="${colour}" ` +
            'class="chart-dot"/>',
        )
        .join(''),
  };
}

/**
 * A value as short as it can be read: with the unit of its axis, if that has one, and as many
 * digits as its axis asks for.
 * @param {number} value
 * @param {ChartSpec['y']} axis
 */
export const brief = (value, { unit, digits = 3 }) =>
  unit
    ? quantity(value, unit, digits)
    : value >= 1e6
      ? amount(value)
      : plain(Number(value.toPrecision(value < 1000 ? digits : 4)));

/**
 * What the marked point has a dot on: where, the series and its place, the value.
 * @param {ChartSpec} spec
 * @param {Frame} frame
 * @returns {[down: number, each: Series, which: number, value: number][]}
 */
function onHandle({ at, xs, series }, { y }) {
  const index = at?.x === undefined ? -1 : xs.indexOf(at.x);
  return series.flatMap((each, which) =>
    each.scatter ||
    each.quiet ||
    each.unnamed ||
    index < 0 ||
    !Number.isFinite(each.ys[index]) ||
    each.ys[index] === null
      ? []
      : [[y.place(each.ys[index]), each, which, each.ys[index]]],
  );
}

/**
 * The marked point: where its line is, and where one takes hold of it.
 * @param {ChartSpec} spec
 * @param {Frame} frame
 */
function held({ at }, { left, bottom, x, y }) {
  if (!at) return null;
  const upright = at.x !== undefined;
  const { low, high, place } = upright ? x : y;
  const here = place(Math.min(high, Math.max(low, upright ? at.x : at.y)));
  const [across, down, wide, tall] = upright ? [here, bottom, 14, 9] : [left, here, 9, 14];
  return {
    upright,
    place: here,
    across,
    down,
    box: { left: across - wide, right: across + wide, top: down - tall, bottom: down + tall },
  };
}

/**
 * Values on the line that is held, each beside its dot.
 * @param {ReturnType<typeof onHandle>} found
 * @param {number} place
 * @param {ChartSpec['y']} axis
 * @param {Places} places
 */
function values(found, place, axis, places) {
  let below; // the words of the value above: values are read downwards
  return found
    .map(([down, , , value]) => {
      const words = brief(value, axis);
      const box = places.beside(place, down, 4, [[words]], below);
      if (!box) return '';
      below = box.top;
      return (
        places.leader(place, down, box) +
        worded(places.take(box), [words], 'chart-word chart-strong')
      );
    })
    .join('');
}

/**
 * Many values on the line that is held: in a column beside it, each with its dot again.
 * @param {ReturnType<typeof onHandle>} found
 * @param {number} place
 * @param {ChartSpec['y']} axis
 * @param {Places} places
 */
function column(found, place, axis, places) {
  const lines = found.map(([, , , value]) => brief(value, axis));
  const [width, height] = [12 + Math.max(...lines.map(widthOf)), lines.length * LINE];
  const { top, bottom } = places.bounds;
  const rows = Array.from(
    { length: Math.ceil((bottom - top - height) / LINE) },
    (_, row) => top + LINE + row * LINE,
  );
  const box = places.among(
    [place + 10, place - 10 - width].flatMap((left) =>
      rows.map((row) => ({ left, right: left + width, top: row, bottom: row + height })),
    ),
  );
  const key = found.map(
    ([, each, which], row) =>
      `<circle cx="${fixed(box.left + 4)}" cy="${fixed(box.top + 7 + row * LINE)}" r="3.5" ` +
      `fill="${colourOf(each, which)}"/>`,
  );
  const words = { ...box, left: box.left + 12 };
  return worded(words, lines, 'chart-word chart-strong') + key.join('');
}

/** What one takes hold of, and the values on the line. */
function handle(spec, frame, { place, upright, across: right, down: low }, places) {
  const knob =
    `<g transform="translate(${fixed(right)} ` +
    `${fixed(low)})${upright ? '' : 'rotate(90)'}"><rect x="-13" y="-8" width="26" height="16" ` +
    'rx="8" class="chart-grip"/><path d="M-4 -4L-8 0L-4 4M4 -4L8 0L4 4" ' +
    'class="chart-arrows"/></g>';
  const found = onHandle(spec, frame).sort(([one], [other]) => one - other);
  const dots = found.map(
    ([down, each, which]) =>
      `<circle cx="${fixed(place)}" cy="${fixed(down)}" r="4.5" ` +
      `fill="${colourOf(each, which)}" class="chart-dot"/>`,
  );
  // of many lines a phone has no room for the values, which stand below the picture
  const read =
    found.length <= FEW
      ? values(found, place, spec.y, places)
      : frame.width >= PHONE
        ? column(found, place, spec.y, places)
        : '';
  return knob + dots.join('') + read;
}

/**
 * The whole picture at a width, and where its dots are.
 * @param {ChartSpec} spec
 * @param {number} width
 * @returns {{ frame: Frame, dots: Dot[], svg: string }}
 */
export function picture(spec, width) {
  const frame = frameOf(spec, width);
  const { left, right, top, bottom, height, x, y } = frame;
  const trails = spec.series.map((series) => (series.scatter ? [] : trail(series, spec.xs, x, y)));
  const paths = spec.series
    .map((series, at) =>
      trails[at].length
        ? '<path d="M' +
          `${trails[at].map(([px, py]) => `${fixed(px - left)} ${fixed(py - top)}`).join('L')}" ` +
          `stroke="${colourOf(series, at)}" stroke-dasharray="${dashOf(series, at)}" ` +
          'class="chart-line"/>'
        : '',
    )
    .join('');
  const marks = (spec.marks ?? []).filter(({ minor }) => !minor || width >= PHONE);
  const tracks = [];
  for (const each of trails) track(each, tracks);
  for (const mark of spec.at ? [...marks, spec.at] : marks) {
    if (mark.x === undefined)
      track(
        [
          [left, y.place(mark.y)],
          [right, y.place(mark.y)],
        ],
        tracks,
      );
    else if (mark.y === undefined)
      track(
        [
          [x.place(mark.x), top],
          [x.place(mark.x), bottom],
        ],
        tracks,
      );
  }
  const places = new Places({ left: left + 1, right: width - 2, top: top - 12, bottom }, tracks);
  const ends = names(spec, frame, trails, places);
  const hold = held(spec, frame);
  if (hold) places.take(hold.box);
  for (const [down] of onHandle(spec, frame))
    places.take({ left: hold.place - 4, right: hold.place + 4, top: down - 4, bottom: down + 4 });
  for (const mark of marks)
    if (mark.x !== undefined && mark.y !== undefined)
      places.take({
        left: x.place(mark.x) - 6,
        right: x.place(mark.x) + 6,
        top: y.place(mark.y) - 6,
        bottom: y.place(mark.y) + 6,
      });
  // whoever stands furthest right has most room
  const all = rules(marks, frame).sort((one, other) => other.place - one.place);
  // The words that matter most are put first; what is drawn last is on top: words on lines.
  const regions = (spec.words ?? []).map((each) => region(each, frame, places)).join('');
  const named = hold && spec.at.label && !spec.at.unwritten ? [{ ...hold, mark: spec.at }] : [];
  const beside = [...named, ...all]
    .map((rule) => (rule.mark === spec.at && rule.upright ? topped : ruled)(rule, frame, places))
    .join('');
  const scattered = dots(spec, frame, places);
  const turns = rings(marks, frame, places);
  const grip = hold ? handle(spec, frame, hold, places) : '';
  const straight =
    all
      .map(
        ({ upright, place }) =>
          `<path d="${across(upright, place, { ...frame, top: top + 4 })}" class="chart-rule"/>`,
      )
      .join('') +
    (hold ? `<path d="${across(hold.upright, hold.place, frame)}" class="chart-held"/>` : '');
  const words =
    axes(spec, frame) +
    straight +
    (`<svg x="${left}" y="${top}" width="${fixed(right - left)}" height="${bottom - top}" ` +
      `class="chart-lines">${paths}</svg>`) +
    ends +
    regions +
    beside +
    turns +
    scattered.svg +
    grip;
  return {
    frame,
    dots: scattered.found,
    svg:
      `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
      `aria-hidden="true" class="chart-picture">${words}</svg>`,
  };
}
