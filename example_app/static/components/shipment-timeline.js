// Writes the days in the reader's own way.

class ShipmentTimeline extends HTMLElement {
  connectedCallback() {
    const format = new Intl.DateTimeFormat(document.documentElement.lang || undefined, { dateStyle: "medium" });
    for (const time of this.shadowRoot?.querySelectorAll("time") ?? []) {
      time.textContent = format.format(new Date(`${time.dateTime}T12:00:00`));
    }
  }
}

customElements.define("shipment-timeline", ShipmentTimeline);
