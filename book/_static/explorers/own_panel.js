// Where a reader brings a model: a box to paste into, a file to choose, or one dropped on the
// explorer.
import { billions, families, modelIn, models, nameOf } from './costs.js';
import { folded, make } from './dom.js';
import { coded, MOST } from './own_models.js';

/** What costlib says of a family that it does not know, and what of it is for Python alone. */
const UNKNOWN = /^model_type .* is not one that costlib knows/;
const IN_PYTHON = /; it knows .*$|, as list\(costlib\.families\.FAMILIES\).*$/;

const LATER = 300; // milliseconds after the last letter

/**
 * A fold that reads a config, which is then the explorer's model; what is wrong with one is said in
 * place.
 */
export function panel(explorer) {
  const bring = (model, name) => {
    explorer.set({ ...explorer.state, model });
    explorer.say(`${name} is read.`);
    fold.after(done);
    done.textContent = `${name} is read.`;
  };
  const done = make('p', { class: 'own-read', 'aria-hidden': 'true' });
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
  const fold = folded(
    { class: 'own-model' },
    'Your own config.json',
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
    done.textContent = '';
    if (!text.trim()) return;
    const elsewhere = fromElsewhere(text.trim());
    if (elsewhere) {
      fold.open = true;
      wrong.replaceChildren(...elsewhere);
      return;
    }
    try {
      const model = await modelCalled(text.trim());
      if (mine !== turn) return;
      fold.open = false;
      if (fold.contains(document.activeElement)) fold.querySelector('summary').focus();
      bring(model, nameOf(model));
    } catch (error) {
      fold.open = true;
      wrong.textContent = error.message.replace(IN_PYTHON, '');
      wrong.after(done);
      const now = nameOf(explorer.state.model);
      done.textContent = `It is not read: the answers are still those of ${now}.`;
      const kin = UNKNOWN.test(error.message) ? kinOf(text) : null;
      if (kin)
        wrong.append(
          make(
            'button',
            { type: 'button', '.onclick': () => read(kin.text) },
            `Read it as ${kin.family}: ${billions(kin.size)} parameters`,
          ),
        );
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

/** The name of a repository, as a link to it or its name alone says it. */
const REPOSITORY = /^(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)\/([\w.-]+\/[\w.-]+)/;
const NAME = /^[\w.-]+\/[\w.-]+$/;

/** Where a link leads to, and how its config comes here: this page asks no other for anything. */
function fromElsewhere(text) {
  const name = REPOSITORY.exec(text)?.[1] ?? NAME.exec(text)?.[0];
  if (!name) return null;
  const address = `https://huggingface.co/${name}/raw/main/config.json`;
  const known = models.find((each) => plainly(name.split('/')[1]).startsWith(plainly(each)));
  return [
    'This page sends nothing and fetches nothing. Open ',
    make('a', { href: address, target: '_blank', rel: 'noopener' }, address),
    ', copy all of it, and paste it here.',
    known ? ` The catalogue has ${known}, under Model.` : '',
  ];
}

const plainly = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** What in a config tells its kind, and a family of that kind. */
const KINS = [
  ['kv_lora_rank', 'deepseek_v3'],
  ['ssm_state_size', 'mamba2'],
  ['state_size', 'mamba'],
  ['num_local_experts', 'mixtral'],
  ['num_experts', 'qwen3_moe'],
  ['n_routed_experts', 'deepseek_v3'],
  ['sliding_window', 'mistral'],
  ['num_key_value_heads', 'llama'],
  ['n_embd', 'gpt2'],
];

/** The same config as the nearest family that costlib knows; nothing if it knows this one. */
function asKin(text) {
  const config = JSON.parse(text);
  const kind = config.model_type;
  if (typeof kind !== 'string') return null;
  const named = families.filter((each) => plainly(kind).startsWith(plainly(each)));
  named.sort((one, other) => other.length - one.length);
  const alike = KINS.filter(([field]) => field in config).map(([, family]) => family);
  for (const family of [...named, ...alike, 'llama']) {
    if (family === kind) return null;
    const called = `${config._name_or_path || kind} (read as ${family})`;
    const changed = JSON.stringify({ ...config, model_type: family, _name_or_path: called });
    try {
      const size = modelIn(changed).params();
      return { family, text: changed, size };
    } catch {} // not this one
  }
  return null;
}

/** What may be tried instead of an unknown family; nothing where there is no such thing. */
function kinOf(text) {
  try {
    return asKin(text);
  } catch {
    return null;
  }
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
