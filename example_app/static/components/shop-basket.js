import { addsByClick } from "./_basket.js";

class ShopBasket extends HTMLElement {
  connectedCallback() {
    addsByClick(this.shadowRoot?.querySelector(".add"));
  }
}

customElements.define("shop-basket", ShopBasket);
