// Put into the page by the tests. Does what window.scenario says at its times, in the page's clock:
//   {"report_ms": 5000, "steps": [{"ms": 2000, "click": SELECTOR} | {"ms":, "key":, "times":} |
//                                 {"ms":, "hide": true|false}]}
// and sends to /report what a reader would see.
'use strict';
(() => {
const errors = [];
addEventListener('error', (e) => errors.push('error: ' + e.message));
addEventListener('unhandledrejection', (e) => errors.push('rejection: ' + e.reason));
document.addEventListener('securitypolicyviolation', (e) => errors.push('policy: ' + e.violatedDirective + ' ' + e.sample));

let hidden = false;
Object.defineProperty(Document.prototype, 'hidden', {get: () => hidden});

const text = (selector) => {
  const e = document.querySelector(selector);
  return e && e.checkVisibility() ? e.textContent : '';
};
const places = () => [...document.querySelectorAll('main *')].filter((e) => !e.closest('svg')).map((e) => {
  const r = e.getBoundingClientRect();
  return [e, Math.round(r.left + scrollX), Math.round(r.top + scrollY), Math.round(r.width), Math.round(r.height)];
});
// Boxes and the places of cells, not of the text inside them: that one changes.
const fixedKinds = 'section, .tile, .package, .node, .l3, .cpu, tr, th, td, h2, .head, li';

// ---- contrast, as WCAG 2 computes it ----
const channels = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
function luminance([r, g, b]) {
  const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
}
function background(e) {
  for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
}
function pale() {
  const found = [];
  for (const e of document.body.querySelectorAll('*')) {
    if (['SCRIPT', 'STYLE', 'OPTION'].includes(e.tagName) || !e.checkVisibility()) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const a = luminance(channels(getComputedStyle(e).color)), b = luminance(background(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(e.className + ' "' + e.textContent.slice(0, 30) + '" ' + ratio.toFixed(2));
  }
  return found;
}

function report(before) {
  const tags = {};
  for (const e of document.querySelectorAll('*')) tags[e.tagName.toLowerCase()] = (tags[e.tagName.toLowerCase()] ?? 0) + 1;
  const handlers = [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name) || (/^(href|src|srcdoc|action)$/i.test(a.name)))).length;
  const cpus = {};
  for (const e of document.querySelectorAll('#machine .cpu')) {
    cpus[e.dataset.cpu] = {container: e.dataset.container ?? '', classes: e.className, label: e.getAttribute('aria-label'), tag: e.querySelector('.tag').textContent};
  }
  const at = new Map(before.map(([e, ...place]) => [e, place]));
  const moved = places().filter(([e, ...place]) => e.matches(fixedKinds) && at.has(e) && at.get(e).join() !== place.join())
    .map(([e, ...place]) => e.tagName + '.' + e.className + ' ' + at.get(e).join() + ' -> ' + place.join());
  return {
    errors, tags, handlers, pwned: String(window.pwned), cpus,
    cores: document.querySelectorAll('#machine .core').length,
    nodes: document.querySelectorAll('#machine .node').length,
    l3s: document.querySelectorAll('#machine .l3').length,
    offline: document.querySelectorAll('#aside .offline').length,
    chips: [...document.querySelectorAll('#aside .chip')].map((e) => e.textContent),
    heads: [...document.querySelectorAll('#heads th')].map((e) => e.className.replace('n ', '')),
    sorts: [...document.querySelectorAll('#heads th')].map((e) => e.getAttribute('aria-sort') ?? ''),
    rows: [...document.querySelectorAll('#rows tr.row')].map((tr) => ({
      id: tr.dataset.id, picked: tr.classList.contains('picked'),
      name: tr.querySelector('.pick').textContent, pod: tr.querySelector('.c-name .two').lastChild.textContent,
      job: tr.querySelector('.c-job .two').firstChild.textContent, trouble: tr.querySelector('.c-trouble').textContent,
      use: tr.querySelector('.c-use .value').textContent, spark: tr.querySelector('.c-use path').getAttribute('d') ?? '',
    })),
    refusals: [...document.querySelectorAll('#refusals li')].map((e) => e.textContent),
    details: document.querySelectorAll('tr.detail').length,
    missing: text('#missing'), notice: text('#notice'), waiting: text('#waiting'), link: text('#link'), state: text('#state'), tip: text('#tip'),
    fits: [...document.querySelectorAll('#fits dd')].map((e) => e.textContent),
    focus: document.activeElement && document.activeElement.dataset.cpu || '',
    stops: document.querySelectorAll('#machine [tabindex="0"]').length,
    width: innerWidth, scroll_width: document.documentElement.scrollWidth,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    moved, compared: before.length, pale: pale(),
  };
}

function act(step) {
  if (step.click) document.querySelector(step.click).click();
  if (step.focus) document.querySelector(step.focus).focus();
  for (let i = 0; i < (step.times ?? 1) && step.key; ++i) {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: step.key, bubbles: true, cancelable: true}));
  }
  if (step.hide !== undefined) { hidden = step.hide; document.dispatchEvent(new Event('visibilitychange')); }
}
addEventListener('load', () => {
  let before = [];
  for (const step of window.scenario.steps ?? []) setTimeout(() => act(step), step.ms);
  setTimeout(() => { before = places(); }, window.scenario.report_ms / 2);
  setTimeout(() => {
    fetch('report', {method: 'POST', body: JSON.stringify(report(before))});
  }, window.scenario.report_ms);
});
})();
