"use strict";
(() => {
  const root = document.documentElement;
  const toggle = document.getElementById("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { toggle.textContent = dark() ? "Light page" : "Dark page"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();
  const key = (row, at) => {
    const cell = row.cells[at];
    return "key" in cell.dataset ? Number(cell.dataset.key) : cell.textContent;
  };
  const missing = (value) => value === "–" || value === "";
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        // Numbers go from the best, which is mostly the largest; texts from A.
        const body = table.tBodies[0];
        const down = head.hasAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.classList.contains("n");
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [key(row, at), row]);
        rows.sort(([a], [b]) => missing(a) - missing(b) || (down ? compare(b, a) : compare(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
  const details = [...document.querySelectorAll("details")];
  addEventListener("beforeprint", () => details.forEach((one) => { one.dataset.was = one.open; one.open = true; }));
  addEventListener("afterprint", () => details.forEach((one) => { one.open = one.dataset.was === "true"; }));
})();
