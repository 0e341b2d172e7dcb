// Made from costlib by `make sync`: never edit this.
export function tokens(accepted, drafts) {
  return (1 - Math.pow(accepted, drafts + 1))/(1 - accepted);
}
export function faster(accepted, drafts, draft, check) {
  return (1 - Math.pow(accepted, drafts + 1))/((1 - accepted)*(check + draft*drafts));
}
