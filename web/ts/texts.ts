// What the page says, in the reader's language. The server puts the texts into
// the head of the page.

const texts: Record<string, string> = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="datamind-texts"]')?.content ?? "{}",
);

/** text returns the text named key with its places filled. */
export function text(key: string, places: Record<string, string | number> = {}): string {
  return (texts[key] ?? key).replace(/\{(\w+)\}/g, (whole, name: string) => String(places[name] ?? whole));
}

/** say tells those who cannot see the page. Urgent words interrupt. */
export function say(words: string, urgent = false): void {
  const region = document.getElementById(urgent ? "assertive" : "polite");
  if (!region) return;
  region.textContent = "";
  // The same words twice are said twice only if the region was empty between.
  setTimeout(() => (region.textContent = words), 50);
}
