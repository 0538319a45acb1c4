import { addsByClick } from "./_basket.js";

class ProductCard extends HTMLElement {
  connectedCallback() {
    addsByClick(this.shadowRoot?.querySelector(".add"));
  }
}

customElements.define("product-card", ProductCard);
