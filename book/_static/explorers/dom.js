// The one way an element is made, and a text copied.

/** An element with attributes, properties that begin with a dot, and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('.')) element[name.slice(1)] = value;
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Put a text on the clipboard, also where the page was not served securely. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make('textarea', { '.value': text, class: 'explorer-offscreen', 'aria-label': 'text to copy' });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}
