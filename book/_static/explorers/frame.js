// What all explorers share: controls, state in the address, charts, results in words, the table
// behind.
import { keysOf, named, withState } from './address.js';
import { Chart } from './chart.js';
import { copy, folded, idle, make, otherThings, whenSomebodyIsThere, withUnits } from './dom.js';
import { counted, plain } from './numbers.js';
import { csv, tableOf } from './table.js';

const POSITIONS = 1000; // of a slider
const LONGEST = 8000; // letters of a link that programs pass on whole
const REST = 100; // milliseconds without a change, and the rest of the page follows
const SENTENCE = 100; // letters: what is longer has a row to itself
const TWO = 640; // pixels, wide enough for two charts beside one another
const LONG = 30; // entries of a list
const AT_ONCE = 8; // steps ahead before the page is asked again whether it rests

/**
 * Where a value stands on its slider, and back.
 * @param {NumberControl} control
 * @param {number} value
 */
export function position(control, value) {
  const { min, max, linear } = control;
  // a logarithmic slider from 0 is shifted by one
  const from = linear ? 0 : control.min === 0 ? 1 : 0;
  const share = linear
    ? (value - min) / (max - min)
    : Math.log((value + from) / (min + from)) / Math.log((max + from) / (min + from));
  return Math.round(share * POSITIONS);
}

/**
 * @param {NumberControl} control
 * @param {number} place
 */
export function atPosition(control, place) {
  const { min, max, linear } = control;
  const from = control.min === 0 && !linear ? 1 : 0;
  const share = place / POSITIONS;
  if (share === 1) return control.max; // to the last digit
  const value = linear
    ? min + share * (max - min)
    : (min + from) * ((max + from) / (min + from)) ** share - from;
  return clamp(control, control.powers && !linear && value >= 1 ? rounded(value) : value);
}

/**
 * Two digits are enough for a drag; anything can be typed.
 * @param {number} value
 */
function rounded(value) {
  const scale = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.round(value / scale) * scale;
}

/**
 * A value that the control allows.
 * @param {NumberControl} control
 * @param {number | string} value
 */
export function clamp(control, value) {
  const number = Number(value);
  if (value === '' || !Number.isFinite(number)) return control.value;
  const scale = 10 ** (control.digits ?? 0); // whole numbers, unless a control has decimals
  return Math.min(control.max, Math.max(control.min, Math.round(number * scale) / scale));
}

/**
 * The choices of a control, which may depend on the rest of the state.
 * @param {ChoiceControl} control
 * @param {State} state
 * @returns {Choice[]}
 */
export function choices(control, state) {
  return typeof control.options === 'function' ? control.options(state) : control.options;
}

/**
 * What a setting may be next, the nearest first: another choice, or a number doubled or halved,
 * once or more.
 * @param {NumberControl | ChoiceControl} control
 * @param {State} state
 * @returns {(number | string)[]}
 */
export function near(control, state) {
  const value = state[control.id];
  if (control.type === 'number')
    return [
      ...new Set(
        [1, 2, 3, 4, 5, 6].flatMap((times) => [
          clamp(control, value * 2 ** times),
          clamp(control, value / 2 ** times),
        ]),
      ),
    ];
  const all = choices(control, state).map(([each]) => each);
  const from = all.indexOf(value);
  const [above, below] = [all.slice(from + 1), all.slice(0, Math.max(0, from)).reverse()];
  return Array.from({ length: Math.max(above.length, below.length) }, (_, far) => [
    above[far],
    below[far],
  ])
    .flat()
    .filter((each) => each !== undefined);
}

/**
 * A complete and allowed state from texts by name, as an address has them.
 * @param {Control[]} controls
 * @param {State} texts
 */
export function stateFrom(controls, texts) {
  /** @type {State} */
  const state = {};
  for (const control of controls) {
    const text = texts[control.id];
    if (control.type === 'number') {
      state[control.id] = text === undefined ? control.value : clamp(control, text);
    } else if (control.type === 'hidden') {
      state[control.id] = text === undefined || !control.pattern.test(text) ? control.value : text;
    } else {
      const values = choices(control, state).map(([value]) => value);
      const fallback = values.includes(control.value) ? control.value : values[0];
      state[control.id] = values.includes(text) || control.pattern?.test(text) ? text : fallback;
    }
  }
  return state;
}

/**
 * The entries of a list: value, words, perhaps what a pointer is told, perhaps their group.
 * @param {Choice[]} options
 */
export function entriesOf(options) {
  /** @type {Map<string, HTMLOptGroupElement>} */
  const groups = new Map();
  return options.flatMap(([value, text, title, group]) => {
    const option = new Option(text, value);
    if (title) option.title = title;
    if (!group) return [option];
    const known = groups.get(group);
    known?.append(option);
    if (known) return [];
    groups.set(group, make('optgroup', { label: group }, option));
    return [groups.get(group)];
  });
}

/** One explorer: its controls, and what is drawn whenever one of them changes. */
export class Explorer {
  /**
   * @param {ExplorerRoot} root
   * @param {Page} page
   * @param {string[]} keys
   */
  constructor(root, page, keys) {
    this.root = root;
    this.page = page;
    this.key = root.dataset.key;
    this.keys = keys; // of all explorers of the page
    this.state = stateFrom(page.controls, this.said() ?? {});
    /**
     * The fields of a setting by its id, and what they show.
     * @type {Map<string, Record<string, any>>}
     */
    this.inputs = new Map();
    /** @type {Chart[]} */
    this.charts = [];
    /** What a page computed of this state. */
    this.result = undefined;
    /** @type {NumberControl | ChoiceControl | undefined} */
    this.reached = undefined; // what a reader may change next
    /** @type {object | null} */
    this.foreseeing = null; // the turn that computes for it
    /** @type {(() => void) | undefined} */
    this.stop = undefined; // what plays, if the page has a film
    this.tried = ''; // the state of the suggestion that was taken
    /** @type {HTMLElement | null} */
    this.chosen = null; // its button
    /** @type {{ button: HTMLElement, top: number } | null} */
    this.pressed = null; // where it was on the screen
    this.deferred = new Map(); // what of a change is still to be done, by kind
    this.unseen = new WeakSet(); // parts of the page that are off the screen
    this.watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries)
        this.unseen[isIntersecting ? 'delete' : 'add'](target);
    });
    this.settled = 0; // changes of which nothing is left to do
    this.build();
    addEventListener('hashchange', () => {
      const said = this.said();
      if (!said) return;
      this.set(said, false);
      if (this.tried !== this.held()) this.seen?.replaceChildren();
    });
    this.redraw();
    let wide = null;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== wide) this.fitted();
      wide = contentRect.width;
    }).observe(this.stage);
  }

  /**
   * Does something of a change later, in place of what of its kind is still to be done.
   * @param {string} kind
   * @param {() => void} action
   * @param {(run: () => void) => unknown} begin
   */
  defer(kind, action, begin = (run) => setTimeout(run)) {
    const mine = {};
    this.deferred.set(kind, mine);
    delete this.root.dataset.settled;
    begin(() => {
      if (this.deferred.get(kind) !== mine) return;
      this.deferred.delete(kind);
      action();
      this.settle();
    });
  }

  /**
   * As `defer`, for a part of the page: while it is off the screen it waits until changes rest.
   * @param {string} kind
   * @param {Element} part
   * @param {() => void} action
   */
  deferPart(kind, part, action) {
    this.watch.observe(part);
    this.defer(kind, action, (run) => setTimeout(run, this.unseen.has(part) ? REST : 0));
  }

  /** A frame later whatever is as large as its place has been drawn for it. */
  fitted() {
    this.defer(
      'size',
      () => {},
      (run) => requestAnimationFrame(() => setTimeout(run)),
    );
  }

  /** Says on the element how many changes have settled; nothing is said while one has not. */
  settle() {
    if (this.deferred.size) return;
    this.settled += 1;
    this.root.dataset.settled = String(this.settled);
  }

  /** What the address says to this one. */
  said() {
    return keysOf(named(location.hash), this.key, this.keys);
  }

  build() {
    const seen = this.page.controls.flatMap((control) =>
      control.type === 'hidden' || control.elsewhere ? [] : [control],
    );
    /** @param {boolean} which */
    const fields = (which) =>
      seen.filter(({ more }) => Boolean(more) === which).map((control) => this.field(control));
    const form = make(
      'form',
      {
        class: 'explorer-controls',
        'aria-label': 'Settings',
        '.onsubmit': (event) => event.preventDefault(),
      },
      ...fields(false),
    );
    form.hidden = !form.childElementCount; // where the picture itself is what one moves
    this.others = make('div', { class: 'explorer-fields' });
    this.more = folded({ class: 'explorer-more' }, 'More settings', this.others);
    this.more.addEventListener('fill', () => {
      this.others.prepend(...fields(true)); // which most readers never see
      this.redraw();
    });
    // the picture: it shares a screen with the settings above it
    this.stage = make('div', { class: 'explorer-stage' });
    this.warning = make('p', { class: 'explorer-warning', role: 'status', hidden: true });
    this.rest = make('div', { class: 'explorer-rest' }); // charts and bars that say more
    this.summary = make('dl', { class: 'explorer-summary' });
    this.live = make('p', { class: 'explorer-live', role: 'status', 'aria-live': 'polite' });
    this.note = make('p', { class: 'explorer-note' });
    this.tableBox = make('div', {
      class: 'explorer-table',
      tabindex: '0',
      role: 'region',
      'aria-label': 'The numbers behind the charts',
    });
    this.details = folded(
      { '.ontoggle': () => this.fillTable() },
      'The numbers behind this',
      this.tableBox,
    );
    this.root.replaceChildren(
      form,
      this.stage,
      ...this.tries(),
      this.warning,
      this.summary,
      ...(seen.some(({ more }) => more) ? [this.more] : []),
      this.rest,
      this.note,
      this.buttons(),
      this.live,
      this.details,
    );
    this.root.classList.add('explorer-ready');
    this.page.build?.(this);
  }

  buttons() {
    const button = (text, action) => make('button', { type: 'button', '.onclick': action }, text);
    const own = `explore_${this.root.dataset.explorer}`; // the page that it has to itself
    const { home } = this.root.dataset; // where the book is, in a frame on another page
    this.own = location.pathname.split('/').pop().startsWith(own)
      ? null
      : make(
          'a',
          { href: `${home ?? ''}${own}.html`, target: home ? '_blank' : null },
          'Open on its own page',
        );
    return make(
      'div',
      { class: 'explorer-buttons' },
      button('Start again', () => this.suggested({ state: {}, say: '' })),
      button('Copy a link to this', () => this.share()),
      button('Copy the numbers as CSV', () =>
        this.copied(csv(this.table()), 'The numbers are copied.'),
      ),
      this.own,
    );
  }

  // Buttons that set what the page suggests to try, and say what to see there.
  tries() {
    if (!this.page.tries) return [];
    this.seen = make('p', { class: 'explorer-said', role: 'status' });
    /** @param {Suggestion} suggestion */
    const button = (suggestion) => {
      const begin = () => {
        const { top } = each.getBoundingClientRect();
        this.suggested(suggestion.here?.(this.state) ?? suggestion);
        this.choose(each);
        this.pressed = { button: each, top };
      };
      const each = make(
        'button',
        { type: 'button', 'aria-pressed': 'false', '.onclick': begin },
        suggestion.label,
      );
      return each;
    };
    return [
      make(
        'div',
        { class: 'explorer-tries' },
        make('p', { class: 'explorer-title' }, 'Try this'),
        make('div', { class: 'explorer-buttons' }, ...this.page.tries.map(button)),
      ),
      this.seen,
    ];
  }

  /**
   * Marks the suggestion that is shown, or none.
   * @param {HTMLElement | null} chosen
   */
  choose(chosen) {
    for (const button of [this.chosen, chosen])
      button?.setAttribute('aria-pressed', String(button === chosen));
    this.chosen = chosen;
  }

  /**
   * What a button suggests, which the browser's Back undoes.
   * @param {{ state: State, say: string }} suggestion
   */
  suggested({ state, say }) {
    this.undoable();
    this.begin(state, say);
  }

  /** On a phone what is said stands over the page until one has read it. */
  hush() {
    return make('button', {
      type: 'button',
      class: 'explorer-hush',
      'aria-label': 'Close',
      '.onclick': () => this.seen.replaceChildren(),
    });
  }

  /** Whatever is set next, the browser's Back undoes. */
  undoable() {
    this.remember();
    history.pushState(null, '', location.href);
  }

  /**
   * Everything as it opens, but for a suggested state; what plays stops.
   * @param {State} state
   * @param {string} say
   */
  begin(state, say) {
    this.stop?.();
    this.set({ ...stateFrom(this.page.controls, {}), ...state });
    if (!this.seen) return;
    this.tried = this.held();
    this.seen.replaceChildren(...withUnits(say), ...(say ? [this.hush()] : []));
    this.seen.classList.remove('explorer-over');
  }

  /**
   * The state, but for what only plays: as long as it stays, what a suggestion said of it is so.
   */
  held() {
    return JSON.stringify(
      this.page.controls.filter(({ plays }) => !plays).map(({ id }) => this.state[id]),
    );
  }

  /** @param {NumberControl | ChoiceControl} control */
  field(control) {
    const field = this.inputsOf(control);
    for (const reach of ['focusin', 'pointerenter'])
      field.addEventListener(reach, () => this.foresee(control));
    return field;
  }

  /**
   * Who reaches for a setting may change it: what that needs is computed while the page rests.
   * @param {...(NumberControl | ChoiceControl)} controls
   */
  async foresee(...controls) {
    if (!this.page.foreseen || (this.foreseeing && this.reached === controls[0])) return;
    [this.reached] = controls;
    const mine = {};
    this.foreseeing = mine; // until another is reached for, or something changes
    const steps = this.coming(controls);
    for (let turn = 0, done = false; !done; turn += 1) {
      await (turn % AT_ONCE ? otherThings() : idle()); // each step is a task of its own
      if (this.foreseeing !== mine) return;
      ({ done } = steps.next());
    }
    this.foreseeing = null;
  }

  /** @param {(NumberControl | ChoiceControl)[]} controls */
  *coming(controls) {
    const { page, state } = this;
    for (const control of controls)
      yield* page.foreseen(
        near(control, state).map((value) => ({ ...state, [control.id]: value })),
        control,
      );
  }

  /** @param {NumberControl | ChoiceControl} control */
  inputsOf(control) {
    const id = `explorer-${this.key}-${control.id}`;
    if (control.type === 'choice') {
      const select = make('select', {
        id,
        '.onchange': () => this.set({ ...this.state, [control.id]: select.value }),
      });
      this.inputs.set(control.id, { select });
      return make(
        'div',
        { class: 'explorer-field' },
        make('label', { for: id }, control.label),
        select,
      );
    }
    const put = (value) => this.set({ ...this.state, [control.id]: value });
    let comes = false;
    const number = make('input', {
      id,
      type: 'number',
      min: control.min,
      max: control.max,
      step: control.digits ? 'any' : 1,
      inputmode: control.digits ? 'decimal' : 'numeric',
      '.onchange': () =>
        put(number.value === '' ? this.empty(control) : clamp(control, number.value)),
      // who comes by a finger writes over what is there, as one does who comes by a key
      '.onpointerdown': () => {
        comes = document.activeElement !== number;
      },
      '.onclick': () => comes && number.select(),
    });
    const slider = make('input', {
      type: 'range',
      min: 0,
      max: POSITIONS,
      step: 1,
      'aria-label': control.label,
      '.oninput': () => put(atPosition(control, Number(slider.value))),
      '.onkeydown': (event) => this.nudge(event, control),
    });
    this.inputs.set(control.id, { number, slider, control });
    const unit = control.unit ? ` (${control.unit})` : '';
    return make(
      'div',
      { class: 'explorer-field' },
      make('label', { for: id }, `${control.label}${unit}`),
      make('div', { class: 'explorer-pair' }, slider, number),
    );
  }

  /**
   * What a field stands for that somebody emptied: what it was, or 0 where that has words.
   * @param {NumberControl} control
   */
  empty(control) {
    return control.blank ? 0 : this.state[control.id];
  }

  /**
   * Arrow keys double and halve on a logarithmic slider, where a thousandth part would be no
   * change.
   * @param {KeyboardEvent} event
   * @param {NumberControl} control
   */
  nudge(event, control) {
    const up = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!up) return;
    event.preventDefault();
    const value = this.state[control.id];
    const next = control.linear
      ? value + up
      : up > 0
        ? Math.max(value * 2, 1)
        : Math.floor(value / 2);
    this.set({ ...this.state, [control.id]: clamp(control, next) });
  }

  /** @param {State} texts */
  set(texts, remember = true) {
    this.state = stateFrom(this.page.controls, texts);
    this.foreseeing = null;
    if (!this.spoken && this.live.textContent) this.live.textContent = '';
    const isOver = this.tried !== this.held();
    this.seen?.classList.toggle('explorer-over', isOver);
    if (isOver) this.choose(null);
    if (remember)
      this.defer(
        'address',
        () => this.rested(),
        (run) => setTimeout(run, REST),
      );
    if (!this.deferred.has('picture'))
      this.defer('picture', () => this.redraw(), requestAnimationFrame);
  }

  /** Once a drag rests: the address, at which browsers are slow, and what may come next. */
  rested() {
    this.remember();
    if (this.reached) this.foresee(this.reached);
  }

  remember() {
    if (this.deferred.delete('address')) this.settle();
    history.replaceState(null, '', withState(location.hash, this.state, this.key, this.keys));
    return location.href;
  }

  share() {
    const link = this.root.dataset.home ? this.own.href : this.remember();
    if (link.length > LONGEST)
      this.say(
        `A link to this would have ${plain(link.length)} characters, and many programs cut ` +
          `links after ${plain(LONGEST)}. Copy its settings as JSON instead.`,
      );
    else this.copied(link, 'The link is copied.');
  }

  /**
   * Copies a text, and says that it did, or that it may not.
   * @param {string} text
   * @param {string} said
   */
  async copied(text, said) {
    this.say(
      (await copy(text))
        ? said
        : 'Nothing was copied: this page, or the one around it, does not let a script copy.',
    );
  }

  /**
   * What is said stands until something changes, but for what its own move changes.
   * @param {string} text
   */
  say(text) {
    this.live.textContent = text;
    this.spoken = true;
    this.defer('words', () => {
      this.spoken = false;
    });
  }

  table() {
    return this.page.table(this.state, this.result, this);
  }

  redraw() {
    for (const control of this.page.controls) this.show(control);
    this.result = this.page.compute(this.state);
    if (this.page.chartsLater) this.deferPart('charts', this.rest, () => this.drawCharts());
    else this.drawCharts();
    const words = this.page.summary?.(this.state, this.result) ?? [];
    this.summary.replaceChildren(
      ...words.map(([term, text]) =>
        make(
          'div',
          { class: text.length > SENTENCE ? 'explorer-sentences' : null },
          make('dt', {}, term),
          make('dd', {}, ...withUnits(text)),
        ),
      ),
    );
    this.warning.replaceChildren(...withUnits(this.page.warning?.(this.state, this.result) ?? ''));
    this.warning.hidden = !this.warning.textContent;
    this.note.replaceChildren(...withUnits(this.page.note?.(this.state, this.result) ?? ''));
    this.page.draw?.(this, this.state, this.result);
    if (this.details.open) this.fillTable();
    if (this.own) this.own.hash = String(new URLSearchParams(this.state));
    this.fitted();
    if (!this.pressed) return;
    const { button, top } = this.pressed; // it stays where it was pressed, whatever grew above it
    this.pressed = null;
    scrollBy({ top: button.getBoundingClientRect().top - top, behavior: 'instant' });
  }

  drawCharts() {
    const charts = this.page.charts?.(this.state, this.result) ?? [];
    charts.forEach((chart, at) => {
      const inStage = at === 0 ? !chart.below : chart.beside && this.stage.clientWidth > TWO;
      this.charts[at] ??= new Chart(
        inStage ? this.stage : this.rest,
        (text) => this.say(text),
        (changes) => this.set({ ...this.state, ...changes }),
      );
      const [drawn, kind] = [this.charts[at], `chart ${at}`];
      this.watch.observe(drawn.box);
      this.deferred.delete(kind); // of a state before
      const waits = this.unseen.has(drawn.box) && !this.page.chartsLater; // all of which waited
      if (waits) this.deferPart(kind, drawn.box, () => drawn.update(chart));
      else drawn.update(chart);
    });
  }

  /**
   * A long list begins with what is chosen, and has the rest once the first picture stands.
   * @param {ChoiceControl} control
   */
  listLater(control) {
    const { select } = this.inputs.get(control.id);
    const put = (entries) => {
      select.replaceChildren(...entriesOf(entries));
      select.value = this.state[control.id];
    };
    put(choices(control, this.state).filter(([value]) => value === this.state[control.id]));
    this.defer(`list ${control.id}`, () => put(choices(control, this.state)));
  }

  /** @param {Control} control */
  show(control) {
    const input = this.inputs.get(control.id);
    if (!input || control.type === 'hidden') return;
    const value = this.state[control.id];
    if (control.type === 'choice') {
      const options = choices(control, this.state);
      if (input.options !== options) {
        const key = options.map(([each]) => each).join();
        const isLater = input.key === undefined && options.length > LONG;
        if (isLater) this.listLater(control);
        else if (input.key !== key) input.select.replaceChildren(...entriesOf(options));
        Object.assign(input, { key, options });
      }
      if (input.select.value !== value) input.select.value = value;
      if (input.select.value !== value) {
        input.select.replaceChildren(...entriesOf(options)); // somebody had narrowed the list
        input.select.value = value;
        input.select.dispatchEvent(new Event('filled'));
      }
      input.select.title = input.select.selectedOptions[0]?.title ?? '';
    } else {
      if (input.shown !== value) {
        input.slider.value = position(control, value);
        input.slider.setAttribute(
          'aria-valuetext',
          control.unit ? counted(value, control.unit) : plain(value, 9),
        );
        input.shown = value;
      }
      const text = control.blank && !value ? '' : String(value);
      if (input.number.value !== text) input.number.value = text;
      if (control.blank) input.number.placeholder = control.blank(this.state);
    }
  }

  fillTable() {
    this.tableBox.replaceChildren(tableOf(this.table()));
  }
}

/**
 * @param {ExplorerRoot} root
 * @param {Page} page
 * @param {string[]} keys
 */
export async function start(root, page, keys) {
  const state = stateFrom(
    page.controls,
    keysOf(named(location.hash), root.dataset.key, keys) ?? {},
  );
  await otherThings(); // the modules were a task of their own
  for (const _ of page.ahead?.(state) ?? []) await otherThings();
  const stand = root.closest('.cell_output') ?? root;
  for (const figure of stand.querySelectorAll('svg.explorer-stand-in')) figure.remove();
  root.explorer = new Explorer(root, page, keys);
  // a slider moves at once, and code runs faster the more it has run
  const sliders = page.controls.flatMap((control) => (control.type === 'number' ? [control] : []));
  whenSomebodyIsThere(() => root.explorer.foresee(...sliders));
}
