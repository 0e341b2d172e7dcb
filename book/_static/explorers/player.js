// What plays a film whose frames are numbered: its buttons, and the keys of its line.
import { make } from './dom.js';

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -1e6, End: 1e6 };

/**
 * Buttons before the picture. `last` says which frame is the last one, `next` which one comes after
 * a frame while it plays, `wait` for how many milliseconds one is shown, and `leap` where the page
 * keys go. State and result have the frame under `frame`.
 */
export class Player {
  /**
   * @param {any} explorer
   * @param {{ last: () => number, next: (frame: number) => number, wait: () => number,
   *   leap: (frame: number, way: number) => number }} film
   */
  constructor(explorer, film) {
    this.explorer = explorer;
    this.film = film;
    this.timer = null;
    const button = (text, action) => make('button', { type: 'button', '.onclick': action }, text);
    this.button = button('Play', () => this.play());
    const others = [
      ['Back', () => this.go(this.frame - 1)],
      ['Step', () => this.go(this.frame + 1)],
      ['Start', () => this.go(0)],
      ['End', () => this.go(film.last())],
    ].map(([text, action]) => button(text, action));
    this.box = make(
      'div',
      { class: 'explorer-buttons explorer-player', role: 'group', 'aria-label': 'Player' },
      this.button,
      ...others,
    );
    explorer.stop = () => this.stop();
    explorer.stage.before(this.box);
    explorer.stage.addEventListener('keydown', (event) => this.press(event));
  }

  get frame() {
    return this.explorer.result.frame;
  }

  /** @param {number} frame */
  put(frame) {
    const within = Math.min(this.film.last(), Math.max(0, frame));
    this.explorer.set({ ...this.explorer.state, frame: within });
  }

  /** @param {number} frame */
  go(frame) {
    this.stop();
    this.put(frame);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = 'Play';
  }

  play() {
    if (this.timer) {
      this.stop();
      return;
    }
    if (this.frame === this.film.last()) this.put(0);
    this.button.textContent = 'Pause';
    this.timer = setInterval(() => {
      const next = this.film.next(this.frame);
      this.put(next);
      if (next >= this.film.last()) this.stop();
    }, this.film.wait());
  }

  /** @param {KeyboardEvent & { target: Element }} event */
  press(event) {
    if (event.target !== this.explorer.line || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const leap = { PageUp: 1, PageDown: -1 }[event.key];
    if (event.key === ' ') this.play();
    else if (leap) this.go(this.film.leap(this.frame, leap));
    else if (KEYS[event.key]) this.go(this.frame + KEYS[event.key]);
    else return;
    event.preventDefault();
  }
}
