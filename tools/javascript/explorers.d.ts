// What an explorer is, for the type check of the scripts. These names are known in every script
// (`/** @param {Control} control */`), and nothing of this file is served.

/** The value of each control by its id: a number, or one of its choices. */
type State = Record<string, any>;

/** What a choice offers: a value, its words, perhaps what a pointer on it is told, and its group. */
type Choice = string[];

interface Setting {
  id: string;
  label?: string;
  /** Among "More settings". */
  more?: boolean;
  /** It has no field of its own in the form: the picture, or another script, shows it. */
  elsewhere?: boolean;
  /** It only plays, so that what a suggestion says stays true while it changes. */
  plays?: boolean;
}

/** A slider and a field beside it; logarithmic, and in whole numbers, unless it says otherwise. */
interface NumberControl extends Setting {
  type: 'number';
  unit?: string;
  min: number;
  max: number;
  value: number;
  linear?: boolean;
  /** Decimals that it may have. */
  digits?: number;
  /** A drag stops at numbers of two digits. */
  powers?: boolean;
  /** What stands in the empty field where the value is 0. */
  blank?: (state: State) => string;
}

/** A method, as its parameter may be declared as the few settings that it reads. */
interface Offer {
  offer(state: State): Choice[];
}

/** A list to choose from, which may depend on the settings before it. */
interface ChoiceControl extends Setting {
  type: 'choice';
  options: Choice[] | Offer['offer'];
  value: string;
  /** What else an address may say, such as a model of the reader's own. */
  pattern?: RegExp;
}

/** A part of the state that only the address and the picture show. */
interface HiddenControl extends Setting {
  type: 'hidden';
  value: string;
  pattern: RegExp;
}

type Control = NumberControl | ChoiceControl | HiddenControl;

/** A button that sets what it names, and what is to be seen then. */
interface Suggestion {
  label: string;
  state: State;
  say: string;
  /** What it sets and says instead, where it goes on from what a reader has chosen. */
  here?(state: State): { state: State; say: string };
}

/**
 * The numbers behind an explorer: the first column heads its row. A unit stands in brackets at the
 * end of a column's name, or in a column called "unit".
 */
interface Table {
  columns: string[];
  rows: (string | number | boolean | null | undefined)[][];
  /** What a page says in place of keys in the first column. */
  words?: Record<string, string>;
}

// ---------------------------------------------------------------- charts

/** A line of values at the chart's `xs`, or dots. */
interface Series {
  label: string;
  ys: (number | null | undefined)[];
  /** Which hue of the book's figures, and which dashes; else by its place. */
  colour?: number;
  dash?: number;
  /** In the colour of the text. */
  ink?: boolean;
  /** Dots, and no line; `sizes` are their radii in pixels. */
  scatter?: boolean;
  sizes?: number[];
  /** Without its name at the end of its line. */
  unnamed?: boolean;
  /** Never read out. */
  quiet?: boolean;
}

/** A line across at a value of one axis, or a ring at a value of both. */
interface Mark {
  x?: number;
  y?: number;
  label?: string;
  under?: string;
  /** Left out on a phone. */
  minor?: boolean;
}

interface Axis {
  label: string;
  range?: number[];
}

/** What a chart shows, and what becomes of the state when its marked point is moved. */
interface ChartSpec {
  title: string;
  /** What it shows, in words, for who does not see it. */
  alt: string;
  x: Axis;
  y: Axis & { linear?: boolean; unit?: string; digits?: number };
  xs: number[];
  series: Series[];
  /** What stands at each value of `xs`, and what is said of it. */
  names?: (string | null | undefined)[];
  details?: (string[] | null | undefined)[];
  marks?: Mark[];
  /** Words in the picture, at the first of some places that is free. */
  words?: { x: number; label: string; low?: boolean }[];
  /** The marked point; with `drag` it can be moved. */
  at?: Mark & { name?: string; unwritten?: boolean };
  drag?(x: number, y: number, name?: string): State;
  /** What an arrow key does, where that is not a step along the chart. */
  press?(way: number, isPage: boolean): State;
  /** It stands below the settings, not beside the picture. */
  below?: boolean;
  /** It stands beside the first one, where there is room for two. */
  beside?: boolean;
}

/** A scale of a chart: from values to pixels and back. */
interface Scale {
  low: number;
  high: number;
  linear: boolean;
  from: number;
  to: number;
  place: (value: number) => number;
  value: (place: number) => number;
}

/** Where the parts of a chart's picture are, in pixels. */
interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** Room for a handle at the left. */
  beside: number;
  /** Room for names at the right. */
  gutter: { most: number; width: number };
  x: Scale;
  y: Scale;
}

/** A dot of a chart that can be pointed at. */
interface Dot {
  x: number;
  y: number;
  r: number;
  /** Of its value among `xs`. */
  index: number;
  name: string;
}

/** A part of a picture that words may take. */
interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
  far?: boolean;
  /** Which of its sides the words stand at. */
  anchor?: 'start' | 'middle' | 'end';
}

// ---------------------------------------------------------------- pages

/**
 * What the script of an explorer exports. Results are its own: `compute` makes one of a state, and
 * every other function is given both.
 */
interface Page<Result = any> {
  controls: Control[];
  compute(state: State): Result;
  table(state: State, result: Result, explorer?: any): Table;
  tries?: Suggestion[];
  charts?(state: State, result: Result): ChartSpec[];
  /** Pairs of a term and what the state makes of it. */
  summary?(state: State, result: Result): string[][];
  note?(state: State, result: Result): string;
  /** What must be known before a state is believed; nothing as a rule. */
  warning?(state: State, result: Result): string;
  /** Called once, and whenever something has changed; `explorer` is that of frame.js. */
  build?(explorer: any): void;
  draw?(explorer: any, state: State, result: Result): void;
  /** Charts may come a moment after the rest. */
  chartsLater?: boolean;
  /** What the first state needs, and what likely next ones do, a task at a time. */
  ahead?(state: State): Iterable<unknown>;
  foreseen?(states: State[], control: NumberControl | ChoiceControl): Iterator<unknown> & Iterable<unknown>;
}

/** The element that an explorer fills. */
interface ExplorerRoot extends HTMLElement {
  explorer?: import('../../book/_static/explorers/frame.js').Explorer;
}

/** What SymPy printed, of numbers in lists or by name. */
type Formula = (...sizes: any[]) => any;
