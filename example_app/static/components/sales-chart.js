// Marks the bar under the pointer; the chart says all it has to say without it.

class SalesChart extends HTMLElement {
  connectedCallback() {
    for (const row of this.shadowRoot?.querySelectorAll("li") ?? []) {
      row.addEventListener("pointerenter", () => row.classList.add("marked"));
      row.addEventListener("pointerleave", () => row.classList.remove("marked"));
    }
  }
}

customElements.define("sales-chart", SalesChart);
