// The audit page: verifying without leaving it, and word of new records.

import { one, piece } from "./dom";
import { say, text } from "./texts";

/** ledger makes the page's seal and its notice of new records work. */
export function ledger(decorate: (root: ParentNode) => void): void {
  const seal = one("#seal");
  if (!seal) return;
  document.addEventListener("submit", (e) => {
    if (!(e.target instanceof HTMLFormElement) || e.target.id !== "verify") return;
    e.preventDefault();
    void verify(decorate);
  });
  if (seal.dataset["state"] === "open") void verify(decorate);
}

async function verify(decorate: (root: ParentNode) => void): Promise<void> {
  const seal = one("#seal");
  const button = one<HTMLButtonElement>("#verify button");
  const title = one("#seal-title");
  const progress = one<HTMLProgressElement>("#seal progress");
  if (!seal || !button || !title || button.disabled) return;
  const focused = document.activeElement === button;
  button.disabled = true;
  title.textContent = text("checking");
  if (progress) progress.hidden = false;
  try {
    const fresh = await piece("/audit/verify?part=seal", { method: "POST" });
    decorate(fresh);
    seal.replaceWith(fresh);
    say(one("#seal-title")?.textContent ?? "");
    if (focused) one<HTMLButtonElement>("#verify button")?.focus();
  } catch (err) {
    button.disabled = false;
    if (progress) progress.hidden = true;
    title.textContent = text("check_failed", { message: err instanceof Error ? err.message : String(err) });
  }
}

/** newRecord offers to show records that came after the page. */
export function newRecord(seq: number): void {
  const link = one<HTMLAnchorElement>("#fresh");
  const newest = Number(link?.dataset["newest"] ?? Number.NaN);
  if (!link || !(seq > newest)) return;
  link.hidden = false;
  link.textContent = text("new_records", { n: seq - newest });
}
