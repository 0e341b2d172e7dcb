// Where a reader brings a model: a box to paste into, a file to choose, or one dropped on the
// explorer.
import { modelIn, models, nameOf } from './costs.js';
import { make } from './dom.js';
import { coded, MOST } from './own_models.js';

const LATER = 300; // milliseconds after the last letter

/**
 * A fold that reads a config, and gives its code to whoever asked for it; what is wrong with one is
 * said in place.
 */
export function panel(explorer, bring) {
  const wrong = make('p', { class: 'own-wrong', role: 'alert' });
  const area = make('textarea', {
    rows: 4,
    spellcheck: 'false',
    maxlength: String(2 * MOST), // more would hold the page up while it is laid out
    'aria-label': 'A config.json',
    placeholder: '{ "model_type": …',
  });
  const file = make('input', {
    type: 'file',
    accept: '.json,application/json',
    'aria-label': 'A config.json as a file',
  });
  const fold = make(
    'details',
    { class: 'own-model' },
    make('summary', {}, 'Your own config.json'),
    make(
      'p',
      {},
      'Paste it, choose the file, or drop it anywhere here. It is read in this page and sent ' +
        'nowhere.',
    ),
    area,
    file,
    wrong,
  );
  let turn = 0;
  const read = async (text) => {
    turn += 1;
    const mine = turn;
    wrong.textContent = '';
    if (!text.trim()) return;
    try {
      const model = await modelCalled(text.trim());
      if (mine !== turn) return;
      fold.open = false;
      if (fold.contains(document.activeElement)) fold.querySelector('summary').focus();
      bring(model, nameOf(model));
    } catch (error) {
      fold.open = true;
      wrong.textContent = error.message;
    }
  };
  let later;
  area.addEventListener('input', () => {
    clearTimeout(later);
    later = setTimeout(() => read(area.value), LATER);
  });
  file.addEventListener('change', async () => read(await textIn(file.files[0])));
  droppable(explorer.root, read);
  return fold;
}

/**
 * What the settings call the model of a text: a code, if costlib can read it, or a name of the
 * catalogue.
 */
async function modelCalled(text) {
  if (models.includes(text)) return text;
  if (text.length <= MOST) modelIn(text); // which says what is wrong
  return coded(text);
}

/** The text of a file, or as much of it as shows that it is too long. */
const textIn = (file) => file?.slice(0, 4 * MOST + 4).text() ?? '';

/** What is dropped on a place is read: a file, or a text. */
function droppable(root, read) {
  const over = (is) => root.classList.toggle('own-dropping', is);
  root.addEventListener('dragover', (event) => {
    event.preventDefault();
    over(true);
  });
  root.addEventListener('dragleave', (event) => {
    if (!root.contains(event.relatedTarget)) over(false);
  });
  root.addEventListener('drop', async (event) => {
    event.preventDefault();
    over(false);
    const [file] = event.dataTransfer.files;
    read(file ? await textIn(file) : event.dataTransfer.getData('text'));
  });
}
