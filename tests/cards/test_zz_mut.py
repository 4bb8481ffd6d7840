import pytest,sys
from hypothesis import Phase
from tests.cards.test_lives import *
from chalicelib.cards.protocol import states
from chalicelib.cards import cards
def m1(mp): mp.setitem(states.CARD_MOVES,"L",frozenset("LTB"))
def m2(mp): mp.setitem(states.CARD_RULES["unblockPin"],"L",None)
def m3(mp): mp.setattr(cards,"MISMATCHES_A_DAY",6)
def m4(mp): mp.setattr(cards.Card,"status",lambda self,now:self.stored_status)
def m5(mp): mp.setitem(states.CARD_RULES["authenticationConfirm"],"T",None)
def m7(mp): mp.setitem(states.ACCOUNT_RULES["createCard"],"S",None)
def m8(mp): mp.setitem(states.CARD_RULES["setPin"],"E",None)
def m9(mp): mp.setitem(states.CARD_RULES["assignCardToFeesGroup"],"B",None)
def m10(mp): mp.setattr("chalicelib.cards.pins.is_simple",lambda pin: len(set(pin))==1)
def m11(mp): mp.setitem(states.CARD_RULES["activateCard"],"T",None)
def m12(mp): mp.setitem(states.CARD_RULES["changeCardStatus"],"N",None)
def m13(mp): mp.setattr("chalicelib.cards.reissuing.retiring_number",lambda lookup,card_id,status,w: __import__("chalicelib.cards.cards",fromlist=["x"]).retiring_number(lookup,card_id,"A",w))

@pytest.mark.parametrize("m",[m1,m2,m3,m4,m5,m7,m8,m9,m10,m11,m12,m13],ids=lambda f:f.__name__)
def test_x(scene,m,monkeypatch):
    m(monkeypatch)
    for life,state in BEGINNINGS:
        if (life is AccountLife)!=(m is m7): continue
        try: play(scene,life,state,settings(max_examples=7, stateful_step_count=10, derandomize=True,phases=(Phase.generate,)))
        except BaseException as e: return
    assert 0
