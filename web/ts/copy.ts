// Buttons that copy. Without script they are hidden.

import { all } from "./dom";
import { say, text } from "./texts";

/** showCopyButtons shows the buttons below root that only work with script. */
export function showCopyButtons(root: ParentNode): void {
  for (const b of all("[data-copy][hidden], [data-copy-from][hidden], [data-copy-link][hidden], [data-retry][hidden]", root)) b.hidden = false;
}

/** copyOnClick makes the copy buttons work. */
export function copyOnClick(): void {
  document.addEventListener("click", (e) => {
    const button = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-copy], [data-copy-from], [data-copy-link]") : null;
    if (button) void copy(button);
  });
}

async function copy(button: HTMLElement): Promise<void> {
  try {
    const { copy: words, copyLink: link, copyFrom: from } = button.dataset;
    if (from !== undefined) await write(fetch(from).then((a) => (a.ok ? a.text() : Promise.reject(new Error(a.statusText)))));
    else await write(Promise.resolve(words ?? new URL(link ?? "", location.href).href));
    say(text("copied"));
  } catch {
    say(text("copy_failed"), true);
  }
}

/** write begins while the click still counts, also where the words come later. */
async function write(words: Promise<string>): Promise<void> {
  if (typeof ClipboardItem === "function" && navigator.clipboard?.write) {
    const blob = words.then((w) => new Blob([w], { type: "text/plain" }));
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    return;
  }
  await navigator.clipboard.writeText(await words);
}
