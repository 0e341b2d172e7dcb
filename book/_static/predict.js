// Predictions answered in place: the reader commits to an option or a number, then sees. All that a
// box says is in its page, folded; this only asks first, and says how far off the guess was.

const POWERS = { k: 3, thousand: 3, m: 6, million: 6, g: 9, b: 9, billion: 9, t: 12, trillion: 12 };
const DIGITS = /[1-9]\d{0,2}(?:[, ]\d{3})+(?:\.\d+)?|\d*[.,]?\d+(?:e[+-]?\d+)?/.source;
const NUMBER = new RegExp(`(${DIGITS})\\s*(thousand|[mbtr]+illion|[kmgbt](?![a-z]))?`, 'i');

/** The number in a text, be it the page's or what a reader types: 10,000, 10k, 1e4, 2.5 million.
    A comma before three digits parts thousands; before others it is a decimal one. */
export function number(text) {
  const [, digits, power] = NUMBER.exec(text) ?? [];
  if (digits === undefined) return null;
  const whole = /^[1-9]\d{0,2}[, ]\d{3}/.test(digits);
  return (
    Number(whole ? digits.replace(/[, ]/g, '') : digits.replace(',', '.')) *
    10 ** (POWERS[power?.toLowerCase()] ?? 0)
  );
}

const simple = (words) =>
  words
    .toLowerCase()
    .replace(/per ?cent/, '%')
    .replace(/^(about|~|≈)/, '')
    .trim();

/** What a reader typed with the answer's unit; null where it is no such number. */
export function guessed(typed, unit) {
  const [digits] = NUMBER.exec(typed) ?? [''];
  const others = simple(typed.replace(digits, ' '));
  return number(typed) && simple(unit).startsWith(others)
    ? `${digits.trim()} ${unit}`.trim()
    : null;
}

/** How far a guess is from the answer, in a sentence; both are texts. */
export function verdict(guess, answer) {
  const [one, other] = [number(guess), number(answer)];
  const said = one ? `You said ${guess}` : `You said “${guess}”`;
  const ratio = one / other;
  const factor = Math.max(ratio, 1 / ratio);
  if (guess === answer || factor < 1.03) return `${said}: right.`;
  if (!one || !other) return `${said}; it comes out otherwise.`;
  const way = ratio > 1 ? 'too high' : 'too low';
  if (factor <= 1.5) return `${said}: close, ${Math.round(100 * Math.abs(ratio - 1))} % ${way}.`;
  const times = Number(factor.toPrecision(factor < 1000 ? 2 : 1)).toLocaleString('en');
  return factor <= 2 ? `${said}: close, within a factor of 2.` : `${said}, ${times} times ${way}.`;
}

const made = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// A guess is kept in the browser alone, so that a page that is opened again shows it.
const kept = {
  name: (at) => `guess ${typeof location === 'undefined' ? '' : location.pathname} ${at}`,
  read(at) {
    try {
      return localStorage.getItem(this.name(at));
    } catch {
      return null;
    }
  },
  write(at, text) {
    try {
      localStorage.setItem(this.name(at), text);
    } catch {
      /* not everybody lets us */
    }
  },
};

// One question: what is folded is its answer, and begins with it in bold; options are a list above.
function ask(answer, at) {
  const right = answer.querySelector('strong').textContent.replace(/[.:]$/, '');
  const above = answer.previousElementSibling;
  const said = made('p', { class: 'predict-said', role: 'status' });
  const question = above.matches('ul') ? above.previousElementSibling : above;
  question.id ||= `predict-${at}`;
  const parts = above.matches('ul') ? options(above, commit) : typed(question, right, commit);
  if (!above.matches('ul')) above.after(parts.form);
  answer.before(said);
  function commit(guess) {
    if (said.textContent) return;
    parts.done(guess, right);
    said.textContent = verdict(guess, right);
    answer.open = true;
    kept.write(at, guess);
  }
  const before = kept.read(at);
  if (before) commit(before);
}

function options(list, commit) {
  const buttons = [...list.children].map((item) => {
    const button = made(
      'button',
      { type: 'button', 'aria-pressed': 'false' },
      item.textContent.trim(),
    );
    button.onclick = () => commit(button.textContent);
    item.replaceChildren(button);
    return button;
  });
  return {
    done: (guess, right) =>
      buttons.forEach((button) => {
        button.setAttribute('aria-pressed', String(button.textContent === guess));
        button.setAttribute('aria-disabled', 'true');
        if (button.textContent === right) button.classList.add('predict-right');
      }),
  };
}

function typed(question, right, commit) {
  const input = made('input', {
    type: 'text',
    inputmode: 'decimal',
    size: 9,
    autocomplete: 'off',
    'aria-labelledby': question.id,
  });
  const button = made('button', { type: 'submit' }, 'That is my guess');
  const unit = right
    .replace(NUMBER, '')
    .replace(/^about /i, '')
    .trim();
  const form = made('form', { class: 'predict-typed' }, input, ` ${unit} `, button);
  form.onsubmit = (event) => {
    event.preventDefault();
    const guess = guessed(input.value, unit);
    if (guess) commit(guess);
    else
      input.setCustomValidity(
        `A number${unit && ` (${unit})`}, please, such as 400, 10k or 2.5 million.`,
      );
    input.reportValidity();
    input.focus(); // the button is gone, and focus should not be
  };
  input.oninput = () => input.setCustomValidity('');
  return {
    form,
    done: (guess) => {
      input.value = input.value || String(number(guess) ?? '');
      input.readOnly = true;
      button.remove();
    },
  };
}

if (typeof document !== 'undefined') {
  const boxes = document.querySelectorAll('blockquote.predict');
  [...boxes].flatMap((box) => [...box.querySelectorAll('details')]).forEach(ask);
  for (const box of boxes) box.classList.add('predict-asks');
}
