// Moments in the reader's own time zone, and times that run.

import { all, one } from "./dom";
import { text } from "./texts";

const lang = document.documentElement.lang;

const forms: Record<string, Intl.DateTimeFormatOptions> = {
  time: { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false },
  hours: { hour: "2-digit", minute: "2-digit", hour12: false },
  short: { month: "short", day: "numeric" },
  day: { year: "numeric", month: "short", day: "numeric" },
  full: { dateStyle: "medium", timeStyle: "medium", hour12: false },
};

const exact = new Intl.DateTimeFormat(lang, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hour12: false, timeZoneName: "short",
});

/** zone is the name of the reader's time zone. */
function zone(): string {
  const parts = new Intl.DateTimeFormat(lang, { timeZoneName: "short" }).formatToParts(new Date());
  return parts.find((p) => p.type === "timeZoneName")?.value ?? "UTC";
}

/** optionsOf gives the hour of what was today, and the day of what was before. */
function optionsOf(form: string, at: Date): Intl.DateTimeFormatOptions | undefined {
  const recent = at.toDateString() === new Date().toDateString();
  if (!recent) return forms[form];
  return form === "day" ? forms["hours"] : form === "short" ? forms["time"] : forms[form];
}

/** localise writes the moments below root in the reader's zone. */
export function localise(root: ParentNode): void {
  for (const element of all<HTMLTimeElement>("time[data-form]", root)) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const form = element.dataset["form"] ?? "full";
    element.textContent = new Intl.DateTimeFormat(lang, optionsOf(form, at)).format(at);
    element.title = exact.format(at);
  }
  for (const element of all("[data-zone]", root)) element.textContent = text("zone", { zone: zone() });
}

/** rememberZone tells the server where days begin for the reader. */
export function rememberZone(): void {
  const east = -new Date().getTimezoneOffset();
  document.cookie = `zone=${east}; path=/; max-age=31536000; samesite=lax`;
}

/** left returns the seconds until an element's moment by the server's clock. */
export function left(element: HTMLElement): number {
  let skew = Number(element.dataset["skew"] ?? Number.NaN);
  if (Number.isNaN(skew)) {
    skew = Date.parse(element.dataset["now"] ?? "") - Date.now() || 0;
    element.dataset["skew"] = String(skew);
  }
  return Math.max(0, Math.ceil((Date.parse(element.dataset["until"] ?? "") - Date.now() - skew) / 1000));
}

/** clock writes seconds as minutes and seconds. */
export function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** tick moves every time that runs. It is called each second. */
export function tick(): void {
  for (const element of all("[data-until]")) element.textContent = clock(left(element));
  for (const element of all("[data-since]")) {
    const seconds = (Date.now() - Date.parse(element.dataset["since"] ?? "")) / 1000;
    element.textContent = `${Math.max(0, seconds).toFixed(0)} s`;
  }
  const ring = one<SVGCircleElement>("#ask-ring");
  const until = one("#confirm [data-until]") ?? one(".timer [data-until]");
  if (ring && until) {
    const whole = Number(ring.dataset["timeout"]) || 600;
    ring.setAttribute("stroke-dasharray", `${Math.min(100, (100 * left(until)) / whole)} 100`);
  }
}
