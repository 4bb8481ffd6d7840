// Parts of a page that change by themselves: #live is looked up again while its page is seen, and replaced if its state
// has changed. It has the address of the page (data-live, which is absent once nothing changes any more), its state and
// what to say of it, perhaps the address of the state alone as JSON (data-live-check), and a rank: what is known better is
// replaced by what is known less well only when that is final. Its element with data-live-hint, if any, says that the page
// follows it, and has a link instead once that is over.

const SLOWEST = 60; // seconds between two looks, if they fail
const PATIENCE = 30 * 60; // seconds after which nothing is expected any more

const said = document.getElementById("live-said");
const part = () => document.getElementById("live");
const begun = performance.now();
let delay = seconds();
let timer = 0;

function seconds() {
  return Number(part().dataset.liveSeconds);
}

async function fetched(address) {
  const answer = await fetch(address, { credentials: "same-origin", cache: "no-store" });
  if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
  return answer;
}

async function isUnchanged({ liveCheck, liveState }) {
  return Boolean(liveCheck) && (await (await fetched(liveCheck)).json()).state === liveState;
}

async function look() {
  const { dataset } = part();
  if (await isUnchanged(dataset)) return;
  const text = await (await fetched(dataset.live)).text();
  const found = new DOMParser().parseFromString(text, "text/html").getElementById("live");
  if (!found) throw new Error("another page");
  const { live, liveState, liveRank = 0 } = found.dataset;
  const isBetter = !live || Number(liveRank) >= Number(dataset.liveRank ?? 0);
  if (liveState !== dataset.liveState && isBetter) replace(found);
}

// Puts what was found in its place. Who was in there goes on at the same element, or at the heading; what did not change
// stays unfolded.
function replace(found) {
  const before = part();
  const focused = before.contains(document.activeElement) ? document.activeElement : null;
  const { scrollX, scrollY } = window;
  document.adoptNode(found);
  keepUnchanged(before, found);
  before.replaceWith(found);
  if (focused) {
    const same = focused.isConnected ? focused : focused.id && document.getElementById(focused.id);
    const again = same || part().querySelector("h1");
    if (again.tagName === "H1") again.tabIndex = -1;
    again.focus({ preventScroll: true });
  }
  window.scrollTo(scrollX, scrollY);
  said.textContent = found.dataset.liveSaid;
}

// Moves the sections and articles that have an id and the same text in both from `before` to `made`.
function keepUnchanged(before, made) {
  for (const section of before.querySelectorAll("section[id], article[id]")) {
    const again = made.querySelector(`#${section.id}`);
    if (again && again !== section && again.textContent === section.textContent) again.replaceWith(section);
  }
}

async function turn() {
  try {
    await look();
    if (part().dataset.live) delay = seconds();
  } catch {
    delay = Math.min(delay * 2, SLOWEST); // the service may be busy, or the session over
  }
  plan();
}

function plan(wait = delay) {
  clearTimeout(timer);
  const isOver = performance.now() - begun > PATIENCE * 1000;
  if (!part().dataset.live || document.hidden) return;
  if (isOver) end();
  else timer = setTimeout(turn, wait * 1000);
}

function end() {
  const hint = part().querySelector("[data-live-hint]");
  if (!hint) return;
  said.textContent = "This page no longer follows it.";
  const reload = document.createElement("a");
  reload.href = part().dataset.live;
  reload.textContent = "Reload";
  hint.replaceChildren(`${said.textContent} `, reload);
  delete hint.dataset.liveHint;
}

document.addEventListener("visibilitychange", () => plan(0));
plan();
