import pytest
from tests.cards.test_lives import *
from chalicelib.cards.protocol import states
from chalicelib.cards import cards
def m1(mp): mp.setitem(states.CARD_MOVES,"L",frozenset("LTB"))
def m2(mp): mp.setitem(states.CARD_RULES["unblockPin"],"L",None)
def m3(mp): mp.setattr(cards,"MISMATCHES_A_DAY",6)
def m4(mp): mp.setattr(cards.Card,"status",lambda self,now:self.stored_status)
def m5(mp): mp.setitem(states.CARD_RULES["authenticationConfirm"],"T",None)
def m6(mp): 
    from chalicelib.cards import authorizing
    mp.setattr("chalicelib.cards.simulator_flow._RETIRED" if False else "chalicelib.cards.authorizing.RETIRED",{"L":"14"},raising=False)
def m7(mp): mp.setitem(states.ACCOUNT_RULES["createCard"],"S",None)
def m8(mp): mp.setitem(states.CARD_RULES["setPin"],"E",None)
@pytest.mark.parametrize("m",[m1,m2,m3,m4,m5,m7,m8],ids=lambda f:f.__name__)
def test_x(scene,m,monkeypatch):
    m(monkeypatch)
    for life in LIVES:
        try: play(scene,life,*LIVES[life],derandomize=True)
        except BaseException as e: print("CAUGHT",type(e).__name__); return
    assert 0
