package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestThread sends the next message of a conversation: the answer arrives on the page, which is accessible.
func TestThread(t *testing.T) {
	need(t)
	axe := axeCore(t)
	b := open(t, start(t))
	b.run(chromedp.Navigate(b.hub.url + "/console/"))
	b.send("echo", "the first words")
	b.shows("#head .badge", "completed")
	b.run(chromedp.Click(`//dd/a[text()="conversation"]`, chromedp.BySearch), chromedp.WaitVisible(".thread"))
	b.run(chromedp.SendKeys("#text", "2s 3 steps"), chromedp.SetValue("#to", "slow"), chromedp.Click("#end form button"), chromedp.WaitVisible("#timeline"))
	b.shows("#head .badge", "completed")
	b.shows(".thread", "the first words")
	b.accessible("a conversation", axe)
	b.shot("a-conversation")
	for _, path := range []string{"calls", "costs"} {
		b.run(chromedp.Navigate(b.hub.url+"/console/"+path), chromedp.WaitVisible("h1"))
		b.accessible(path, axe)
	}
}
