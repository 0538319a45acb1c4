// Puts things into the visitor's basket. Without a script the same link leads to a page that asks and does it.

const named = (link) => new URL(link.href).searchParams.getAll("add");

async function put(skus) {
  const token = document.querySelector('meta[name="csrf-token"]')?.content;
  if (!token) return null;
  const body = new URLSearchParams(skus.map((sku) => ["add", sku]));
  const headers = { "X-CSRFToken": token, Accept: "application/json" };
  const answer = await fetch("/basket", { method: "POST", body, headers, credentials: "same-origin" });
  return answer.ok ? (await answer.json()).count : null;
}

function show(count) {
  for (const place of document.querySelectorAll("[data-basket-count]")) place.textContent = count;
}

// Lets a link add what it names. Where that fails, the link is followed.
export function addsByClick(link) {
  if (!link || link.dataset.ready) return;
  link.dataset.ready = "yes";
  const [text, label] = [link.textContent, link.ariaLabel];
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.getAttribute("aria-busy") === "true") return;
    link.setAttribute("aria-busy", "true");
    const count = await put(named(link)).catch(() => null);
    link.removeAttribute("aria-busy");
    if (count === null) return void window.location.assign(link.href);
    show(count);
    link.setAttribute("aria-pressed", "true");
    link.textContent = "In your basket ✓";
    link.ariaLabel = null;
    link.dispatchEvent(new CustomEvent("basket:added", { bubbles: true, composed: true, detail: { count } }));
    setTimeout(() => {
      link.textContent = text;
      link.ariaLabel = label;
      link.removeAttribute("aria-pressed");
    }, 2500);
  });
  link.addEventListener("keydown", (event) => {
    if (event.key === " ") { event.preventDefault(); link.click(); }
  });
}
