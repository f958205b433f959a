// The browser's own notification that something waits, for whoever asked for it.
// It says nothing about what waits: it may lie on a locked screen.

import { one } from "./dom";
import { say, text } from "./texts";

const key = "notify";

function wanted(): boolean {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(key) === "on";
}

/** notifyButton makes the button that switches notifications on and off work. */
export function notifyButton(): void {
  const button = one<HTMLButtonElement>("#notify");
  if (!button || !("Notification" in window) || Notification.permission === "denied") return;
  const show = (): void => button.setAttribute("aria-pressed", String(wanted()));
  button.hidden = false;
  show();
  button.addEventListener("click", () => void change(show));
}

async function change(show: () => void): Promise<void> {
  if (wanted()) {
    localStorage.removeItem(key);
    say(text("notify_off"));
  } else if ((await Notification.requestPermission()) === "granted") {
    localStorage.setItem(key, "on");
    say(text("notify_on"));
  } else {
    say(text("notify_denied"), true);
  }
  show();
}

/** notify tells somebody who does not look at the page that a question waits. */
export function notify(approval: string): void {
  if (!document.hidden || !wanted()) return;
  try {
    const note = new Notification(text("notify_title"), { body: text("asked"), tag: approval });
    note.onclick = () => {
      window.focus();
      note.close();
    };
  } catch {
    // Some browsers have notifications for installed pages only.
  }
}
