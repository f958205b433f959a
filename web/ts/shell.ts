// The side bar as a drawer, the list of sessions in it, the tab's title, and
// the banner of a lost connection.

import { all, one, piece } from "./dom";
import { text } from "./texts";

/** drawer makes the side bar slide in on narrow screens. */
export function drawer(): void {
  const side = one("#side");
  const button = one(".menu-btn");
  if (!side || !button) return;
  const set = (open: boolean): void => {
    side.classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
    (open ? one(".btn", side) : button)?.focus();
  };
  for (const b of [button, one(".menu-close")]) {
    b?.addEventListener("click", (e) => {
      e.preventDefault();
      set(b === button && !side.classList.contains("open"));
    });
    b?.addEventListener("keydown", (e) => {
      if (e instanceof KeyboardEvent && e.key === " ") {
        e.preventDefault();
        b.click();
      }
    });
  }
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && side.classList.contains("open")) set(false);
  });
  document.addEventListener("click", (e) => {
    const outside = e.target instanceof Element && !e.target.closest("#side, .menu-btn");
    if (outside && side.classList.contains("open")) side.classList.remove("open");
  });
}

let due = 0; // the timer of the next refresh
let asked = 0; // refreshes that were asked for
let shown = 0; // the newest of them whose answer is on the page

/** refreshAround fetches the list of sessions and the state of the ledger again, soon. */
export function refreshAround(current: string): void {
  clearTimeout(due);
  const soon = 150;
  due = window.setTimeout(() => {
    const mine = ++asked;
    piece(`/recent?current=${encodeURIComponent(current)}`)
      .then((fresh) => {
        if (mine < shown) return; // a later answer was quicker
        shown = mine;
        putAround(fresh);
      })
      .catch(() => undefined); // a convenience; the next event tries again
  }, soon);
}

/** putAround replaces what stands around the page, and keeps the focus. */
function putAround(fresh: HTMLElement): void {
  const list = one("#recent");
  const next = one("#recent", fresh);
  if (!list || !next) return;
  const top = list.scrollTop;
  const focused = document.activeElement;
  const href = focused instanceof HTMLElement && (list.contains(focused) || focused.id === "ledger") ? focused.getAttribute("href") : null;
  for (const id of ["recent", "ledger-count", "ledger"]) {
    const now = one(`#${id}`, fresh);
    if (now) document.getElementById(id)?.replaceWith(now);
  }
  countWaiting(Number(next.dataset["waiting"] ?? 0));
  next.scrollTop = top;
  if (href === null) return;
  const again = focused?.id === "ledger" ? one("#ledger") : one(`a[href="${CSS.escape(href)}"]`, next);
  again?.focus({ preventScroll: true });
}

/** countWaiting puts what waits for the person into the tab's title. */
function countWaiting(n: number): void {
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = n > 0 ? `(${n}) ${title}` : title;
}

const patience = 2000; // milliseconds before a lost connection is mentioned

/** Banner says that the connection is lost, and when it is tried again. */
export class Banner {
  private shown = 0;
  private due = 0;

  constructor(private readonly again: () => void) {}

  lost(seconds: number | null): void {
    if (seconds === null) {
      clearTimeout(this.shown);
      this.shown = 0;
      this.due = 0;
      one("#connection")?.replaceChildren();
      return;
    }
    this.due = Date.now() + seconds * 1000;
    if (!this.shown) this.shown = window.setTimeout(() => this.show(), patience);
  }

  /** tick counts down. */
  tick(): void {
    const words = one("#connection .grow");
    if (!words) return;
    const seconds = Math.max(0, Math.ceil((this.due - Date.now()) / 1000));
    words.textContent = seconds > 0 ? text("lost", { s: seconds }) : text("lost_now");
  }

  private show(): void {
    const banner = document.createElement("div");
    banner.className = "banner d-ask";
    const words = document.createElement("span");
    words.className = "grow";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn sm";
    button.textContent = text("reconnect");
    button.addEventListener("click", () => this.again());
    banner.append(words, button);
    one("#connection")?.replaceChildren(banner);
    this.tick();
  }
}

/** autoSubmit sends filter forms when a choice is made, and goes on from it on the new page. */
export function autoSubmit(): void {
  const focused = sessionStorage.getItem("focus");
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  sessionStorage.removeItem("focus");
  for (const form of all<HTMLFormElement>("form[data-auto-submit]")) {
    form.addEventListener("change", (e) => {
      const chosen = e.target instanceof HTMLSelectElement || (e.target instanceof HTMLInputElement && /radio|checkbox/.test(e.target.type));
      if (!chosen) return;
      sessionStorage.setItem("focus", e.target.id);
      form.requestSubmit();
    });
    // Empty fields are left out of the address.
    form.addEventListener("formdata", (e) => {
      for (const [name, value] of [...e.formData.entries()]) if (value === "") e.formData.delete(name);
    });
  }
}
