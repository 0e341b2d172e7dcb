// The search of the book: in the dialog of every page (Ctrl+K) and on the page of its own.
// What it needs is fetched when somebody begins to ask.
const ROOT = new URL('../../', import.meta.url);
const IN_DIALOG = 7;
let asked = null;

/** The engine, with the index, fetched once. */
function ready() {
  asked ??= Promise.all([
    import('./find.js'),
    fetch(new URL('sections.json', import.meta.url), { cache: 'no-cache' }).then((answer) => {
      if (!answer.ok) throw new Error(`${answer.status} for the index`);
      return answer.json();
    }),
  ]).then(async ([tools, index]) => ({ ...tools, engine: await tools.engine(index) }));
  return asked;
}

function element(tag, attributes, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

function shown(result, snippet) {
  const room = result.href.startsWith('book/api/') ? ['API reference'] : [];
  const place = [...new Set([...room, result.page, result.title])].join(' › ');
  const text = snippet(result).map(([piece, hit]) =>
    hit ? element('mark', {}, piece.trimEnd()) : piece,
  );
  const spaced = text.flatMap((piece) => (piece instanceof Node ? [piece, ' '] : [piece]));
  return element(
    'li',
    {},
    element(
      'a',
      { href: new URL(result.href, ROOT).href },
      element('span', { className: 'found-place' }, place),
      element('span', { className: 'found-text' }, ...spaced),
    ),
  );
}

/** Make a field answer as one types. */
function answer(form) {
  const field = form.querySelector('input[type=search]');
  // With the older theme, for Python 3.10, it is no element of that name.
  const dialog = form.closest('dialog, .search-button__search-container');
  const said = element('p', { className: 'found-said', role: 'status' });
  const list = element('ol', { className: 'found' });
  form.after(said, list);
  let turn = 0;
  list.dataset.settled = turn; // as explorers say it: so many, the last one answered

  async function look() {
    const question = field.value.trim();
    turn += 1;
    const mine = turn;
    delete list.dataset.settled;
    if (!dialog)
      history.replaceState(
        null,
        '',
        question ? `?q=${encodeURIComponent(question)}` : location.pathname,
      );
    if (!question) {
      list.replaceChildren();
      said.textContent = '';
      list.dataset.settled = mine;
      return;
    }
    said.textContent = 'Searching …';
    try {
      const { engine, find, snippet } = await ready();
      if (mine !== turn) return; // somebody typed on
      const found = find(engine, question);
      list.replaceChildren(
        ...found.slice(0, dialog ? IN_DIALOG : found.length).map((one) => shown(one, snippet)),
      );
      said.replaceChildren(
        ...(found.length
          ? [
              `${found.length === 30 ? 'The best 30' : found.length} ` +
                `section${found.length > 1 ? 's' : ''}`,
            ]
          : [
              'Nothing found. Fewer or other words may help; the ',
              element('a', { href: new URL('book/glossary.html', ROOT).href }, 'glossary'),
              ' lists the book’s own.',
            ]),
      );
      if (dialog && found.length > IN_DIALOG) {
        const all = new URL(`search.html?q=${encodeURIComponent(question)}`, ROOT).href;
        said.append(', ', element('a', { href: all }, 'show all'));
      }
    } catch (error) {
      said.textContent =
        `The search could not be loaded (${error.message}). Is the page served, or opened as a ` +
        'file?';
    }
    if (mine === turn) list.dataset.settled = mine;
  }

  function move(event) {
    const links = [field, ...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to === undefined || at < 0 || !links[to]) return;
    event.preventDefault();
    links[to].focus();
  }

  // On its own page the field has the focus from the start, also of whoever goes on elsewhere.
  field.addEventListener(dialog ? 'focus' : 'keydown', () => ready().catch(() => {}), {
    once: true,
  });
  field.addEventListener('input', look);
  for (const part of [field, list]) part.addEventListener('keydown', move);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    list.querySelector('a')?.click();
  });
  list.addEventListener('click', (event) => {
    if (!event.target.closest('a')) return;
    if (dialog instanceof HTMLDialogElement) dialog.close();
    else dialog?.parentElement.classList.remove('show');
  }); // it may lead within this page
  if (!dialog) {
    field.value = new URLSearchParams(location.search).get('q') ?? '';
    field.focus();
  }
  if (field.value) look();
}

document.querySelectorAll('form.bd-search').forEach(answer);
