// The list of operations: narrowed down while one types, and walked through with the arrow keys.

export class OperationList {
  constructor(nav) {
    this.nav = nav;
    this.search = nav.querySelector("input[type=search]");
    if (/^Mac|^iP/.test(navigator.platform)) nav.querySelector("kbd").textContent = "⌘K";
    this.groups = nav.querySelector(".x-groups");
    this.links = [...nav.querySelectorAll("a[data-operation]")];
    this.none = nav.querySelector("[data-none]");
    this.texts = new Map(this.links.map((each) => [each, each.textContent.toLowerCase()]));
    this.search.addEventListener("input", () => this.narrow());
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.search.value = "";
      this.narrow();
    });
    nav.addEventListener("keydown", (event) => this.#walk(event));
    document.addEventListener("keydown", (event) => this.#seek(event));
  }

  narrow() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const each of this.links) {
      const text = this.texts.get(each) + each.closest("[data-group]").dataset.group.toLowerCase();
      each.parentElement.hidden = !words.every((word) => text.includes(word));
    }
    for (const group of this.nav.querySelectorAll("[data-group]")) {
      group.hidden = !group.querySelector("li:not([hidden])");
    }
    this.none.hidden = this.#visible().length > 0;
  }

  show(id) {
    for (const each of this.links) {
      if (each.dataset.operation === id) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    const current = this.links.find((each) => each.dataset.operation === id);
    if (!current) return;
    const { top, bottom } = current.getBoundingClientRect();
    const frame = this.groups.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom) this.groups.scrollTop += top - frame.top - frame.height / 3;
  }

  #visible() {
    return this.links.filter((each) => !each.closest("[hidden]"));
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    const stops = [this.search, ...this.#visible()];
    const at = stops.indexOf(document.activeElement);
    const next = stops[at + step];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }

  // Ctrl+K or ⌘K leads to the search.
  #seek(event) {
    if (event.key?.toLowerCase() !== "k" || event.ctrlKey === event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    this.search.focus();
    this.search.select();
  }
}
